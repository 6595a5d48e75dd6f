"""What the names of files and folders say of them: a mask, an image, a map, a rater."""

from __future__ import annotations

import re
from typing import Literal

from segjury.protocols.patterns import CASE

Role = Literal["mask", "image", "map", "consensus", "sample", "unknown"]
SEPARATORS = "_-. "

_PARTS = re.compile(r"[_\-. ]+")
_RATER = re.compile(
    r"(?i:raters?|readers?|annotators?|annotations?|annot|anno|experts?|observers?|radiologists?|"
    r"reviewers?|graders?|physicians?|doctors?|obs|rad|dr)"
)
_RATER_AND_NAME = re.compile(rf"{_RATER.pattern}(\d+|[A-Z]{{1,3}}|[a-z])?")
_MASK = re.compile(
    r"(?i:seg|segs|segmentations?|masks?|labels?|labelmaps?|labels(tr|ts|val)|gt|dseg|desc|"
    r"contours?|delineations?|reference|predictions?|preds?)\d*"
)
_MAP = re.compile(
    r"(?i:prob|probs|proba|probability|probabilities|probmap|conf|confidence|softmax|sigmoid|"
    r"logits?|uncertainty|entropy)"
)
_CONSENSUS = re.compile(r"(?i:consensus|staple|majority|vote|fused|fusion|merged|agreed)")
_IMAGE = re.compile(
    r"(?i:images?|imaging|img|ct|cta|mri?|pet|scan|volume|t1w?|t2w?|t1ce|flair|adc|dwi|bold|us)"
)
_IMAGE_FOLDER = re.compile(r"(?i:images?(tr|ts|val)?|imgs?|scans?|raw|volumes?|cts?|mris?)")
_CHANNEL = re.compile(rf".*{re.escape(CASE)}_\d{{4}}")  # of an image, as nnU-Net names them
_SAMPLE = re.compile(r"(?i:samples?|draws?)\d*")


def parts_of(text: str) -> list[str]:
    """The words of a name, between its separators."""
    return [part for part in _PARTS.split(text) if part]


def names_a_rater(word: str) -> bool:
    """Whether a word is one for a rater, with a number or initials behind it or without."""
    return _RATER_AND_NAME.fullmatch(word) is not None


def is_rater_word(word: str) -> bool:
    """Whether a word is one for a rater, alone."""
    return _RATER.fullmatch(word) is not None


def names_a_mask(word: str) -> bool:
    """Whether a word is one for a mask, or for who drew it."""
    return _MASK.fullmatch(word) is not None or names_a_rater(word)


def is_known_word(word: str) -> bool:
    """Whether a word says what a file is, so that it is no part of the name of a case."""
    return names_a_mask(word) or any(known.fullmatch(word) for known in (_MAP, _CONSENSUS, _SAMPLE))


def is_image_folder(name: str) -> bool:
    """Whether a folder is named as one of images."""
    return _IMAGE_FOLDER.fullmatch(name) is not None


def role_of(template: str) -> Role:
    """What a file is, by its path with `{case}` in place of the case's name."""
    *folders, stem = template.split("/")
    words = parts_of(stem.replace(CASE, " "))
    if any(map(_SAMPLE.fullmatch, words)) or (
        any(map(_SAMPLE.fullmatch, folders)) and stem[-1:].isdigit()
    ):
        return "sample"
    if any(map(_MAP.fullmatch, words)):
        return "map"
    if any(_CONSENSUS.fullmatch(word) for word in (*words, *folders)):
        return "consensus"
    if any(map(is_image_folder, folders)):
        return "image"
    if any(map(names_a_mask, words)):
        return "mask"
    if any(map(_IMAGE.fullmatch, words)) or _CHANNEL.fullmatch(template):
        return "image"
    return "unknown"
