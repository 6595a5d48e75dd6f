"""Automatic labels of vessels: Frangi's filter, thresholds by multi-Otsu, hysteresis."""

from segjury.methods.vessel_labels.frangi import Filter, frangi
from segjury.methods.vessel_labels.labels import Choices, Label, label_image
from segjury.methods.vessel_labels.responses import Responses, responses
from segjury.methods.vessel_labels.segmentation import Segmentation, segmentation
from segjury.methods.vessel_labels.settings import Setting, main_settings, plausible_settings

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
