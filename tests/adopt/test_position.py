"""The position of an export against those of events: at or before it they lose, after it they win."""

from typing import TYPE_CHECKING

import attrs
import pytest

from ingest.adopt.position import SourcePosition, lowest_position, parse_position, position_at
from ingest.compile.table import CompiledTable, compile_table
from ingest.tables import DialectName
from ingest.testing import CONNECTORS, envelope_schema
from tests.compile.sqlserver import ID, KEY_ID, TOPIC, VALUE_ID, key, table, written
from tests.feeds import feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES: dict[DialectName, tuple[str, dict[str, str], dict[str, str]]] = {
    "sqlserver": (
        "0000002b:00000007:0003",
        {
            "commit_lsn": "0000002b:00000007:0003",
            "change_lsn": "0000002b:00000007:0002",
            "event_serial_no": "9",
        },
        {
            "commit_lsn": "0000002b:00000008:0001",
            "change_lsn": "0000002b:00000001:0001",
            "event_serial_no": "1",
        },
    ),
    "oracle": (
        "2868546",
        {"version": "2.7.0.Final", "scn": "2868545", "commit_scn": "2868546", "txSeq": "7"},
        {"version": "2.7.0.Final", "scn": "2868001", "commit_scn": "2868547", "txSeq": "1"},
    ),
    "postgres": (
        "0/18CD8F8",
        {"sequence": '["26007000","26007100"]', "lsn": "26007100"},
        {"sequence": '["26008056","26000001"]', "lsn": "26000001"},
    ),
    "mysql": (
        "mysql-bin.000003:154",
        {"file": "mysql-bin.000003", "pos": "120", "row": "3"},
        {"file": "mysql-bin.000003", "pos": "154", "row": "0"},
    ),
}
"""By dialect: a position, the fields of the last event up to it, and those of the first one after it."""


def compiled_of(dialect: DialectName) -> CompiledTable:
    """Compile a table of a connector's events."""
    config = attrs.evolve(table(), dialect=dialect)
    value = envelope_schema(TOPIC, {**ID, "v": "string"}, CONNECTORS[dialect])
    return compile_table(feed(config), [written(KEY_ID, key(ID))], [written(VALUE_ID, value)])


@pytest.mark.parametrize("dialect", CASES)
def test_events_up_to_a_position_lose_and_later_ones_win(dialect: DialectName, spark: "SparkSession") -> None:
    """In the order of the dialect; rows without a position lose against all."""
    result = compiled_of(dialect)
    text, earlier, later = CASES[dialect]
    before, at, after = (
        position_at(spark, result, position)
        for position in (
            SourcePosition("", earlier), parse_position(result, text), SourcePosition("", later)
        )
    )  # fmt: skip
    lowest = lowest_position(spark, result)
    assert lowest < position_at(spark, result, SourcePosition("", {}))
    assert lowest < before < at <= after
    assert len({len(position) for position in (lowest, before, at, after)}) == 1
