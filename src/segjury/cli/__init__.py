"""The command line: one file per command, named as the command."""

from importlib import import_module

from segjury.cli.program import app, main

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = (  # in the order in which somebody new meets them
    *("demo", "protocols", "phantom", "check", "curate", "split", "raters", "consensus"),
    *("evaluate", "rank", "analyze", "report", "figure", "ensemble", "ratings", "vessels"),
)
for _command in COMMANDS:
    import_module(f"segjury.cli.{_command}")  # adds its command to `app`
