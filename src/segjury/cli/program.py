"""The program: its version, and how it ends."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from segjury.errors import InputError

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="segjury",
    help="Score, rank and report segmentation benchmarks in which experts disagree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Family(TyperGroup):
    """Commands under one word; the first of them needs no name.

    So `phantom raters MASK` stands beside `phantom PROTOCOL OUT`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first command in front where none is named."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def family(name: str, about: str) -> typer.Typer:
    """A family of commands, to which the one that needs no name is added first."""
    group = typer.Typer(
        name=name,
        help=about,
        cls=_Family,
        no_args_is_help=True,
        epilog=f"Example: [cyan]segjury {name} COMMAND --help[/] has the options of each.",
    )
    app.add_typer(group)
    return group


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("segjury"))
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Score, rank and report segmentation benchmarks in which experts disagree."""


def main() -> None:
    """Run the program; bad input is one line on standard error and exit code 2."""
    try:
        app()
    except InputError as error:
        fail(error)
        sys.exit(BAD_INPUT)
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stdout = None
        sys.exit(0)
    except OSError as error:  # a full disk, a folder that cannot be written to
        fail(f"{error.strerror or error}: {error.filename or 'no file named'}")
        sys.exit(BAD_INPUT)


def fail(error: InputError | str) -> None:
    """Say what is wrong, on one line whatever a name is."""
    print("error:", " ".join(str(error).split()), file=sys.stderr)
