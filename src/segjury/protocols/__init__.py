"""Protocols: what a benchmark computes, as data."""

from segjury.protocols.load import builtin_names, load_protocol, protocol_text
from segjury.protocols.protocol import MetricUse, Protocol

__all__ = ["MetricUse", "Protocol", "builtin_names", "load_protocol", "protocol_text"]
