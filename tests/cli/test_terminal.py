"""What the terminal shows of the library's messages."""

import ast
import re
from pathlib import Path

import pytest
import typer

import segjury
from segjury.cli import app
from segjury.cli.output.terminal import as_options, warn


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Give another `out`", "Give another --out"),
        ("say `follow_links`", "say --follow-links"),
        ("`missing='worst'` gives the worst value", "--missing worst gives the worst value"),
        ("Give fewer `samples`", "Give fewer --bootstrap"),
        ("See `segjury protocols NAME`", "See `segjury protocols NAME`"),
    ],
)
def test_an_argument_of_the_library_is_an_option_on_the_command_line(said, shown):
    assert as_options(said) == shown


def test_a_warning_is_one_line_whatever_names_hold(capsys):
    warn("case A\nB has no `reference`")
    assert capsys.readouterr().err == "warning: case A B has no --reference\n"


def test_every_argument_that_a_message_names_is_an_option_of_some_command():
    commands, options = [typer.main.get_command(app)], set()
    for command in commands:
        options.update(option for each in command.params for option in each.opts)
        commands += getattr(command, "commands", {}).values()
    named = set(re.findall(r"`[a-z_]+(?:=[^`]*)?`", "\n".join(messages())))
    assert len(named) > 20
    assert {as_options(each).split()[0] for each in named} <= options


def messages():
    """The texts that errors of the library are made with."""
    house = Path(segjury.__file__).parent
    for path in house.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError":
                yield from (
                    each.value
                    for each in ast.walk(node)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
