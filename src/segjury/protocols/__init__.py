"""Protocols: what a benchmark computes, as data."""

from segjury.protocols.load import builtin_names, load_protocol, protocol_text
from segjury.protocols.options import METRIC_USES, MetricUse
from segjury.protocols.protocol import Protocol

__all__ = [
    "METRIC_USES",
    "MetricUse",
    "Protocol",
    "builtin_names",
    "load_protocol",
    "protocol_text",
]
