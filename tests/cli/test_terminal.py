"""What the terminal shows of the library's messages."""

import pytest

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
