"""Plain text fits its width, and never at the cost of a name."""

import pytest

from ingest.cli.output import WIDTH, lay_out, print_error, print_table, print_text, some

NAME = "server1_salesdb_dbo_customer_addresses"


def test_a_name_stays_whole_however_narrow_the_width() -> None:
    """What one copies into the next command is never folded or cut."""
    lines = lay_out(("table", "note"), [(NAME, "moved to earliest; was 0=125")], 40, elastic=("note",))
    assert lines[2].split("  ")[0] == NAME


def test_a_folding_column_takes_what_the_names_leave() -> None:
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


def test_an_unknown_value_beside_known_ones_shows_as_a_dash() -> None:
    """None is a value that is not there; an empty text says nothing."""
    lines = lay_out(("table", "lag", "note"), [("a", None, "x"), ("b", 0, "")], WIDTH, right=("lag",))
    assert lines[2:] == ["a        -  x", "b        0"]


def test_a_paragraph_folds_at_spaces_and_hangs(capsys: pytest.CaptureFixture[str]) -> None:
    """Words stay whole; further lines stand below the first word."""
    print_text("- " + "varchar/nvarchar/varbinary(max) " * 5, indent=2, hanging=2)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("  - varchar/nvarchar/varbinary(max) varchar")
    assert second.startswith("    varchar/nvarchar/varbinary(max)")


def test_many_names_are_told_by_the_first_few() -> None:
    """A hundred tables do not fill the screen, and one more is not worth counting."""
    assert some("abcde") == "a, b, c, d, e"
    assert some("abcdef") == "a, b, c, d and 2 more"


def test_control_characters_in_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Names come from registries and brokers, and a terminal obeys what they hold."""
    evil = "a\x1b[2Jb\x07\x9b1m"
    print_table(("topic",), [(evil,)])
    print_text(evil)
    print_error(evil)
    shown = capsys.readouterr()
    assert shown.out.count("a\\x1b[2Jb\\x07\\x9b1m") == 2
    assert shown.err == "ingest: a\\x1b[2Jb\\x07\\x9b1m\n"
