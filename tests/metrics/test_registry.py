from __future__ import annotations

import inspect
import pkgutil

import pytest

from segjury import metrics
from segjury.metrics import FAMILIES, METRICS, Metric
from segjury.protocols import METRIC_USES
from segjury.scoring import scorers
from segjury.scoring.scorers import SCORERS


def test_every_metric_has_a_scorer_or_is_measured_elsewhere():
    elsewhere = {name for name, metric in METRICS.items() if metric.measured == "elsewhere"}
    assert elsewhere == {"time_s", "memory_gb_s"}
    assert SCORERS.keys() == METRICS.keys() - elsewhere


def test_scorers_stand_in_files_named_as_the_families():
    families = {family.__name__.rpartition(".")[2] for family in FAMILIES} - {"efficiency"}
    found = pkgutil.walk_packages(scorers.__path__, f"{scorers.__name__}.")
    assert families <= {module.name.rpartition(".")[2] for module in found}
    for name in ("nsd", "dsc", "cldice", "vi"):
        declared_in = next(f for f in FAMILIES if hasattr(f, name.upper()))
        family = declared_in.__name__.rpartition(".")[2]
        assert SCORERS[name].score.__module__.endswith(f".scorers.{family}")


def test_what_the_families_export_can_be_imported_from_the_room():
    exported = {name for family in FAMILIES for name in family.__all__}
    assert exported < set(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)
    assert {"dsc", "hd95", "betti_numbers", "THRESHOLDS"} < exported


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_every_metric_says_how_it_is_computed(metric):
    assert metric.formula
    assert metric.needs


@pytest.mark.parametrize(
    "name", sorted(METRICS.keys() - {"time_s", "memory_gb_s", "contact_angle"})
)
def test_options_of_the_protocol_are_arguments_of_the_function_or_the_scorers_own(name):
    arguments = inspect.signature(getattr(metrics, name)).parameters
    of_the_scorer = {"against", "epsilon", "released_tolerance_voxels", "unit"}
    assert METRICS[name].options.model_fields.keys() <= {*arguments, *of_the_scorer}
    assert METRICS[name].options.model_fields.keys() < METRIC_USES[name].model_fields.keys()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "Tumour burden"}, "small letters"),
        ({"bounds": (1.0, 0.0)}, "low and high"),
        ({"decimals": 40}, "0 to 12"),
    ],
)
def test_a_wrong_declaration_is_refused(wrong, message):
    about = {
        "name": "burden",
        "title": "Burden",
        "summary": "A share.",
        "direction": "lower",
        "bounds": (0.0, 1.0),
    }
    with pytest.raises(ValueError, match=message):
        Metric(**(about | wrong))
