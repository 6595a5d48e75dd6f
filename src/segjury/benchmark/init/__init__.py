"""A protocol made from what lies in a folder: layouts, labels, and what metrics they support."""

from segjury.benchmark.init.grand_challenge import link_grand_challenge
from segjury.benchmark.init.proposal import Proposal, assume, init, propose

__all__ = ["Proposal", "assume", "init", "link_grand_challenge", "propose"]
