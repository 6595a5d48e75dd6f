"""Find and read protocol files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from segjury.errors import InputError, did_you_mean
from segjury.protocols.options import METRIC_USES
from segjury.protocols.protocol import Protocol
from segjury.protocols.toml_file import Schema, toml_text

SCHEMA = Schema(
    Protocol, METRIC_USES, "name", "metric", "See `segjury protocols NAME` for the form"
)


def builtin_names() -> list[str]:
    """Names of the protocols that come with the package."""
    folder = resources.files(__package__)
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


def protocol_text(name_or_path: str | Path) -> str:
    """The TOML source of a built-in protocol or of a file."""
    name = str(name_or_path)
    if name in builtin_names():
        return (resources.files(__package__) / f"{name}.toml").read_text("utf-8")
    path = Path(name)
    if not path.is_file() and path.suffix == ".toml":
        raise InputError(
            f"there is no protocol file {name}", "Give its path, or have `segjury init` write one"
        )
    if not path.is_file():
        raise InputError(
            f"there is no protocol '{name}'",
            f"{did_you_mean(name, builtin_names(), 'Use')} or the path of a .toml file",
        )
    return toml_text(path)


def load_protocol(name_or_path: str | Path | Protocol, *, allow_code: bool = False) -> Protocol:
    """Read a built-in protocol by name, or a TOML file of the same form; one loaded stays.

    A file that names Python code, the metrics of others, is refused unless `allow_code`: it may
    come from a stranger.
    """
    if isinstance(name_or_path, Protocol):
        return name_or_path
    name = Path(name_or_path).name
    return SCHEMA.read(protocol_text(name_or_path), name, allow_code=allow_code)
