"""The referee agrees with the recorded events, so that it can judge the product."""

import re
from datetime import date
from decimal import Decimal

import pytest

from tests.e2e.recordings import ORACLE_RAC, POSTGRES, RECORDINGS, Recording
from tests.e2e.referee import differences, read_expected
from tests.e2e.referee.kind import EXACT, PLAIN, Allowed
from tests.e2e.referee.mongodb import one_spelling
from tests.e2e.referee.postgres import kind_of
from tests.e2e.referee.replay import replay
from tests.e2e.referee.rows import by_key

TABLES = [
    (recording, table)
    for recording in RECORDINGS
    for table in recording.tables
    # Its truncates are in one of three partitions: the order of the file is not the connector's.
    if (recording, table) != (ORACLE_RAC, "SCRATCH")
]


@pytest.mark.parametrize(
    ("recording", "table"), TABLES, ids=[f"{recording.name}-{table}" for recording, table in TABLES]
)
def test_the_recorded_events_end_in_the_sources_rows(recording: Recording, table: str) -> None:
    """Decoded without the product; the newest event of a key wins, by the order of the file."""
    expected = read_expected(recording, table)
    rows = by_key(replay(recording, table), expected.keys, expected.kinds)
    assert expected.rows
    assert differences(expected.rows, rows) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": -1}, r"version: expected \d+, found -1"),
        ({"id": -1}, "missing row"),
        ({"balance": None}, "balance: expected Decimal"),
    ],
)
def test_a_wrong_cell_is_named(change: dict[str, object], message: str) -> None:
    """One changed cell of one row, or a row under another key."""
    expected = read_expected(POSTGRES, "customers")
    first, *rest = replay(POSTGRES, "customers")
    wrong = differences(expected.rows, by_key([{**first, **change}, *rest], expected.keys, expected.kinds))
    assert re.search(message, "\n".join(wrong))


def test_a_duplicate_key_is_an_error() -> None:
    """A table with two rows of one key is wrong, even if they are equal."""
    with pytest.raises(AssertionError, match="two rows for key"):
        by_key([{"id": 1}, {"id": 1}], ("id",), {})


@pytest.mark.parametrize("value", ["1E+3", "1e3", 1.5, "+1", "1_000"])
def test_numbers_as_text_are_plain(value: object) -> None:
    """No exponent, no double."""
    with pytest.raises(AssertionError):
        PLAIN.found(value)


def test_a_double_is_not_an_exact_number() -> None:
    """A decimal column that became a double is wrong even if the digits agree."""
    assert EXACT.found(Decimal("1.5")) == EXACT.expected("1.50")
    with pytest.raises(AssertionError):
        EXACT.found(1.5)


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        ("money", "-$1,234.50", Decimal("-1234.50")),
        ("interval", "P-1Y-2M3DT-4H", -36_572_400_000_000),
        ("interval", "PT-0.000001S", -1),
        ("interval", "P10000Y", 315_576_000_000_000_000),
        ("time with time zone", "23:59:59.999999-11:30", 41_399_999_999),
        ("time without time zone", "24:00:00", "24:00:00.000000"),
        ("time(3) without time zone", "12:34:56.789", "12:34:56.789"),
        ("character(5)", "ab", "ab   "),
        ("bit varying(12)", "111111111111", 4095),
        ("text[]", '{a,NULL,"c,d","","\\"q\\\\"}', ["a", None, "c,d", "", '"q\\']),
        ("date[]", "{2020-02-29,NULL}", [date(2020, 2, 29), None]),
        ("hstore", '"k"=>"v", "n"=>NULL', '{"k": "v", "n": null}'),
        ("inet", "192.168.0.1/24", "192.168.0.1/24"),
        ("inet", "::1/128", "::1"),
        ("timestamp with time zone", "-infinity", None),
    ],
)
def test_postgresqls_text_is_read(declared: str, text: str, value: object) -> None:
    """By PostgreSQL's rules, and Debezium's averages for intervals."""
    assert kind_of(declared).expected(text) == value


def test_a_date_before_christ_may_lose_only_its_era() -> None:
    """Null from the stream, the year without its era from a snapshot."""
    allowed = kind_of("date").expected("0044-03-15 BC")
    assert isinstance(allowed, Allowed)
    assert [allowed.accepts(value) for value in (None, date(44, 3, 15), date(43, 3, 15))] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("strict", "relaxed"),
    [
        ('{"$numberLong": "7"}', "7"),
        ('{"$binary": "AQI=", "$type": "04"}', '{"$binary": {"base64": "AQI=", "subType": "04"}}'),
        ('{"$oid": "65F0C0DE00000000000003EC"}', '{"$oid": "65f0c0de00000000000003ec"}'),
        ('{"$date": 1739455297970}', '{"$date": "2025-02-13T14:01:37.97Z"}'),
        ('{"$date": -1}', '{"$date": {"$numberLong": "-1"}}'),
        (
            '{"$regex": "^a", "$options": "i"}',
            '{"$regularExpression": {"pattern": "^a", "options": "i"}}',
        ),
        ('{"a": {"$numberInt": "1"}, "b": 2}', '{"b": 2, "a": 1}'),
    ],
)
def test_extended_json_spellings_are_equal(strict: str, relaxed: str) -> None:
    """Version 1 strict, version 2 relaxed and extended."""
    assert one_spelling(strict) == one_spelling(relaxed)


@pytest.mark.parametrize(
    ("left", "right"), [("1", "true"), ('"1"', "1"), ("null", '""'), ("[1, 2]", "[2, 1]")]
)
def test_different_documents_stay_different(left: str, right: str) -> None:
    """Python treats 1 and true as equal; a document does not."""
    assert one_spelling(left) != one_spelling(right)
