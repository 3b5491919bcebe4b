"""Plain text fits its width, for any width of the terminal and any encoding of the locale."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from ingest.cli.output import WIDTH, lay_out, print_error, print_table, print_text
from ingest.names import first_few

NAME = "server1_salesdb_dbo_customer_addresses"


def test_a_row_too_wide_for_the_terminal_becomes_a_block_of_lines() -> None:
    """A name that is copied into the next command stays whole as long as one line can hold it."""
    rows = [(NAME, "moved to earliest; was 0=125", None), ("orders", "", 7)]
    assert lay_out(("table", "note", "lag"), rows, 50, elastic=("note",)) == [
        f"table  {NAME}",
        "note   moved to earliest; was 0=125",
        "lag    -",
        "",
        "table  orders",
        "lag    7",
    ]


@given(
    st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60), st.integers()), min_size=1, max_size=4),
    st.integers(20, 120),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, str, int]], width: int) -> None:
    """For any content of the cells; a fold drops only spaces."""
    lines = lay_out(("table", "note", "n"), rows, width, right=("n",), elastic=("note",))
    assert all(Text(line).cell_len <= width for line in lines)


def test_a_locale_without_unicode_gets_escapes_and_ascii_rules() -> None:
    """A command that has done its work does not end in a UnicodeEncodeError; JSON stays JSON."""
    script = (
        "from ingest.cli.output import *\n"
        "adapt_streams(); claim_stdout()\n"
        "print_table(('table', 'unit'), [('größe', 'µs')]); print_text('1 µs'); print_error('größe')\n"
        "print_json({'größe': 'µs'}, indent=None)\n"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    *table, paragraph, document = process.stdout.splitlines()
    assert table[1].strip("-") == ""
    assert table[2].split() == ["gr\\xf6\\xdfe", "\\xb5s"]
    assert paragraph == "1 \\xb5s"
    assert json.loads(document) == {"größe": "µs"}
    assert process.stderr == "ingest: gr\\xf6\\xdfe\n"


def test_a_folding_column_takes_the_width_left_by_the_names() -> None:
    """A long remark folds at spaces, and every line fits."""
    lines = lay_out(("table", "note"), [(NAME, "every word of this " * 9)], WIDTH, elastic=("note",))
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(line[len(NAME) :].strip() for line in lines[2:]) == ("every word of this " * 9).strip()


def test_the_last_folding_column_gives_way_first() -> None:
    """The earlier one stays on one line as long as the later can shrink."""
    unit = "ms since 1970-01-01, no zone"
    lines = lay_out(
        ("unit", "loses"), [(unit, "the offset, and digits below 1 µs")], 50, elastic=("unit", "loses")
    )
    assert lines[2].startswith(f"{unit}  the offset")


def test_numbers_stand_below_each_other() -> None:
    """Numbers align to the right, with separators of thousands."""
    lines = lay_out(("table", "read"), [("a", 7), ("b", 12345)], WIDTH, right=("read",))
    assert lines[2:] == ["a           7", "b      12,345"]


def test_a_column_without_content_is_left_out() -> None:
    """Neither nothing nor `-` alone is worth a column."""
    lines = lay_out(("table", "lag", "note"), [("a", None, ""), ("b", None, "")], WIDTH)
    assert lines == ["table", "─────", "a", "b"]


def test_an_unknown_value_among_known_ones_shows_as_a_dash() -> None:
    """None is a value that is not there; an empty text says nothing."""
    lines = lay_out(("table", "lag", "note"), [("a", None, "x"), ("b", 0, "")], WIDTH, right=("lag",))
    assert lines[2:] == ["a        -  x", "b        0"]


def test_a_paragraph_folds_at_spaces_and_hangs(capsys: pytest.CaptureFixture[str]) -> None:
    """Words stay whole; further lines stand below the first word."""
    print_text("- " + "varchar/nvarchar/varbinary(max) " * 5, indent=2, hanging=2)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("  - varchar/nvarchar/varbinary(max) varchar")
    assert second.startswith("    varchar/nvarchar/varbinary(max)")


def test_many_names_are_shortened_to_the_first_few() -> None:
    """A hundred tables do not fill the screen, and one more is not worth counting."""
    assert first_few("abcde") == "a, b, c, d, e"
    assert first_few("abcdef") == "a, b, c, d and 2 more"


def test_control_characters_in_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Names come from registries and brokers, and a terminal obeys control characters."""
    evil = "a\x1b[2Jb\x07\x9b1m\u202ec\u2066"
    print_table(("topic",), [(evil,)])
    print_text(evil)
    print_error(evil)
    shown = capsys.readouterr()
    assert shown.out.count("a\\x1b[2Jb\\x07\\x9b1m\\u202ec\\u2066") == 2
    assert shown.err == "ingest: a\\x1b[2Jb\\x07\\x9b1m\\u202ec\\u2066\n"


def test_a_reader_that_closes_the_pipe_ends_a_command_quietly() -> None:
    """As `ingest … | head -1` does: the exit code of SIGPIPE, and no error to report."""
    command = [sys.executable, "-m", "ingest", "schema", "show", "--connector", "postgres", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_a_table_of_types_stays_a_table_in_100_columns() -> None:
    """Elastic columns shrink below their usual minimum before rows become blocks."""
    row = (
        "x" * 24,
        "y" * 7,
        "z" * 9,
        "w" * 18,
        "microseconds since midnight, UTC",
        "digits below 1 µs, and more",
    )
    headings = ("meaning", "carried as", "policy", "spark", "unit", "loses")
    lines = lay_out(headings, [row], WIDTH, elastic=("unit", "loses"))
    assert set(lines[1]) == {"─"}
    assert max(map(len, lines)) <= WIDTH
