"""`segjury metrics`: the metrics there are, what one declares, and whether it obeys the laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from segjury.cli import completion
from segjury.cli.program import BAD_INPUT, family
from segjury.errors import InputError

if TYPE_CHECKING:
    from segjury.metrics import Metric

metrics = family("metrics", "List metrics, or check one of your own.", no_args_is_help=False)


@metrics.command(epilog="Examples: [cyan]segjury metrics[/]; [cyan]segjury metrics nsd[/]")
def show(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Metric to describe.", autocompletion=completion.one_of(completion.METRICS)
        ),
    ] = None,
) -> None:
    """List the metrics, those of installed packages too; with a name, describe one."""
    import warnings

    from segjury.cli.output.terminal import plain_table, terminal, warn
    from segjury.errors import did_you_mean, same_name
    from segjury.metrics import METRICS
    from segjury.metrics.third_party import installed_metrics, load_installed, load_metric

    name = name and (same_name(name, METRICS) or name)
    if name in METRICS:
        return _describe(METRICS[name])
    if name in installed_metrics():
        return _describe(load_metric(installed_metrics()[name]))
    if name is not None:
        known = [*METRICS, *installed_metrics()]
        raise InputError(f"there is no metric '{name}'", did_you_mean(name, known, "Known are"))
    with warnings.catch_warnings(record=True) as broken:
        warnings.simplefilter("always")
        others = load_installed()
    table = plain_table("metric", "title", "better", "unit", "needs")
    for metric in (*METRICS.values(), *others):
        needs = ", ".join(metric.needs)
        table.add_row(metric.name, metric.title, metric.direction, metric.unit or "-", needs)
    terminal().print(table)
    for each in broken:
        warn(str(each.message))
    return None


@metrics.command(epilog="Example: [cyan]segjury metrics check mypackage.scores:tumour_burden[/]")
def check(
    place: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="The metric, as Python finds it.")
    ],
) -> None:
    """Run a metric of your own on small random masks, and check the laws of all metrics.

    One line per law; exit code 2 if one is broken.
    """
    from segjury.cli.output.terminal import say
    from segjury.metrics.laws import check_laws
    from segjury.metrics.third_party import load_metric

    outcomes = check_laws(load_metric(place))
    for law, wrong in outcomes.items():
        say(f"{'BROKEN' if wrong else 'ok    '}  {law}{f': {wrong}' if wrong else ''}")
    if any(outcomes.values()):
        raise typer.Exit(BAD_INPUT)


def _describe(metric: Metric) -> None:
    """Print what a metric declares."""
    from segjury.cli.output.terminal import say

    low, high = metric.bounds
    about = {
        "formula": metric.formula,
        "better": metric.direction,
        "bounds": f"{low:g} to {high:g}" if high < float("inf") else f"{low:g} upwards",
        "unit": metric.unit or "none",
        "needs": ", ".join(metric.needs),
        "one value per": metric.scope,
        "readings": ", ".join(metric.readings),
    }
    say(f"{metric.name}: {metric.title}", *metric.summary.splitlines(), "")
    for what, value in about.items():
        say(f"{what:<14} {value}")
    for name, field in metric.options.model_fields.items():
        usual = (
            "" if field.is_required() or field.default is None else f" (default: {field.default})"
        )
        say(f"option {name}: {field.description or 'see its package'}{usual}")
