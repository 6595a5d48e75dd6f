"""The command line: one file per command, named as the command."""

from importlib import import_module

from segjury.cli.program import COMMANDS, app, main

__all__ = ["app", "main"]

for _command in COMMANDS:
    import_module(f"segjury.cli.{_command}")  # adds its command to `app`
