"""Figures of hard cases and failures, and which cases to show."""
