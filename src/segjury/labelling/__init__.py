"""Automatic labels of vessels: Frangi's filter, thresholds by multi-Otsu, hysteresis."""

from segjury.labelling.frangi import Filter, frangi
from segjury.labelling.labels import Choices, Label, label_image
from segjury.labelling.responses import Responses, responses
from segjury.labelling.segmentation import Segmentation, segmentation
from segjury.labelling.settings import Setting, main_settings, plausible_settings

__all__ = [
    "Choices",
    "Filter",
    "Label",
    "Responses",
    "Segmentation",
    "Setting",
    "frangi",
    "label_image",
    "main_settings",
    "plausible_settings",
    "responses",
    "segmentation",
]
