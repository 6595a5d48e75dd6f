"""The program: its version, and how it ends."""

from __future__ import annotations

import errno
import signal
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from segjury.errors import InputError, PassingError

BAD_INPUT = 2
TRY_AGAIN = 75  # as sysexits.h calls a failure that may be gone the next time
INTERRUPTED = 130
TERMINATED = 143
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

COMMANDS = (  # each has a file of its name; in the order in which somebody new meets them
    *("demo", "init", "protocols", "metrics", "phantom", "check", "curate", "split", "raters"),
    *("consensus", "evaluate", "rank", "analyze", "report", "figure", "compare", "ensemble"),
    *("ratings", "vessels"),
)


class _Program(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in their order."""
        return sorted(super().list_commands(ctx), key=COMMANDS.index)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; typer would end an interrupted one without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


app = typer.Typer(
    name="segjury",
    cls=_Program,
    help="Score, rank and report segmentation benchmarks in which experts disagree.",
    no_args_is_help=True,
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
        if not args and self.no_args_is_help:
            return super().parse_args(ctx, args)
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Offer the commands, and what the first of them takes."""
        first = next(iter(self.commands.values()))
        taken = (each for each in first.params if each.param_type_name == "argument")
        argument = next(taken, None)
        named = argument.shell_complete(ctx, incomplete) if argument else []
        return [*super().shell_complete(ctx, incomplete), *named]


def family(name: str, about: str, *, no_args_is_help: bool = True) -> typer.Typer:
    """A family of commands, to which the one that needs no name is added first."""
    group = typer.Typer(
        name=name,
        help=about,
        cls=_Family,
        no_args_is_help=no_args_is_help,
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


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C."""


class Terminated(BaseException):
    """The system wants us to end, as at the end of a batch job's time."""


STOPS = (KeyboardInterrupt, Interrupted, Terminated)


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def main() -> None:
    """Run the program; bad input is one line on standard error and exit code 2."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stdout = None
        sys.exit(0)
    except (InputError, OSError, *STOPS) as error:
        message, code = ending(error)
        fail(message)
        sys.exit(code)


def ending(error: BaseException) -> tuple[str, int]:
    """What to say of an error that ends a command, and its exit code."""
    if isinstance(error, KeyboardInterrupt | Interrupted):
        return "interrupted", INTERRUPTED
    if isinstance(error, Terminated):
        return "terminated", TERMINATED
    if isinstance(error, OSError):  # such as a folder that cannot be written to
        what = f"{error.strerror or error}: {error.filename or 'no file named'}"
        fix = "Make room, and run the same command to go on" if error.errno in FULL else ""
        return str(InputError(what, fix)), BAD_INPUT
    from segjury.cli.output.terminal import as_options

    return as_options(str(error)), TRY_AGAIN if isinstance(error, PassingError) else BAD_INPUT


def fail(error: str) -> None:
    """Say what is wrong, on one line whatever a name is."""
    from segjury.cli.output.terminal import log, one_line

    log(f"error: {one_line(error)}")
