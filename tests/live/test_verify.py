"""`ingest verify` against a real PostgreSQL: it finds each planted fault, and accuses nothing else."""

import re

import pytest
from pyspark.sql import functions as F

from ingest.errors import UsageError
from ingest.verify.result import TableVerification
from tests.live.source import TABLES
from tests.live.tables import check_faults, with_faults
from tests.live.verified import LOST_BY_DEBEZIUM, Live

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

LOADED = (
    *(table for table in TABLES if table != "late"),
    *("texts", "typed", "cased", "steady", "numbers", "moments"),
)
FAULTS = {
    "i2": "i2 + 1",
    "i4": "null",
    "i8": "i8 - 1",
    "f4": "cast(1.5000001 as float)",
    "f8": "0.10000000000000002D",
    "num": "'123.457'",
    "num2": "cast(num2 + 0.01 as decimal(12,2))",
    "num10": "cast(num10 + 0.0000000001 as decimal(38,10))",
    "num45": "'12.126'",
    "num5": "num5 - 1",
    "mon": "mon + 0.01",
    "bo": "not bo",
    "ch": "rtrim(ch)",
    "vc": "lower(vc)",
    "tx": "rtrim(tx)",
    "em": "cast(null as string)",
    "nu": "''",
    "ci": "lower(ci)",
    "by": "X'00fe'",
    "da": "date_add(da, 1)",
    "ti": "'12:34:56.789013'",
    "ti0": "'12:34:57'",
    "ti3": "'12:34:56.790'",
    "tz": "'11:51:30.12379Z'",
    "ts": "ts + interval 1 microsecond",
    "ts0": "ts0 + interval 1 second",
    "ts3": "ts3 + interval 1 millisecond",
    "tstz": "tstz + interval 1 hour",
    "iv": "iv + 1",
    "js": """'{"a": 2}'""",
    "jb": """'{"a":1}'""",
    "uu": "'6f5a1a0e-2b2f-4bd5-8b1a-0123456789ac'",
    "xm": "'<b/>'",
    "ine": "'192.168.0.1'",
    "cid": "'10.0.0.0/9'",
    "mac": "'08:00:2b:01:02:04'",
    "b1": "not b1",
    "b8": "X'AB'",
    "vb": "X'07'",
    "r4": "'[1,11)'",
    "rts": "replace(rts, '2021', '2022')",
    "rn": "'(0.5,1.6]'",
    "ta": "array('a', 'n', null)",
    "ia": "array(1, null, -4)",
    "la": "array(1L, 2L, 3L)",
    "da_a": "array(date '2020-03-01', null)",
    "ba": "array(true, false, false)",
    "na": "array(cast(1.11 as decimal(10,2)))",
    "en": "'sad'",
    "pt": "named_struct('x', 1.5D, 'y', -2.0000000000000004D, 'wkb', pt.wkb, 'srid', pt.srid)",
    "lt": "'a.B'",
    "oi": "oi + 1",
}
"""A fault for each type, by column: the stored value, changed as little as possible."""


def test_differences_name_the_traps_of_their_table(live: Live) -> None:
    """A generated column is one: a snapshot has it, and later changes make it null."""
    live.plant("numbers", lambda rows: rows.withColumn("g", F.expr("if(id = 1, null, g)")))
    answer = live.verify("numbers")
    assert answer.columns == {"g": 1}
    assert answer.note.startswith("generated columns are in a snapshot and not in later changes")
    assert "(inv.numbers.g)" in answer.note
    live.plant("numbers", lambda rows: rows.withColumn("g", F.expr("if(id = 1, '1.0000000000000000', g)")))
    assert "generated" not in live.verify("numbers").note


@pytest.mark.parametrize("table", LOADED)
def test_a_true_copy_is_equal(table: str, live: Live) -> None:
    """Every type of the database, by checksums: only the connector's own losses differ."""
    answer = live.verify(table)
    assert answer.error is None
    assert answer.columns == LOST_BY_DEBEZIUM.get(table, {})
    assert set(answer.counts) <= {"different"}
    assert answer.source_rows == answer.table_rows > 0
    assert dict(answer.uncompared) == (
        {"hs": "hstore has no canonical form as string"} if table == "all_types" else {}
    )


@pytest.mark.parametrize("mode", ["counts", "keys", "full"])
def test_the_other_modes_agree(mode: str, live: Live) -> None:
    """A composite key, and texts as keys, in each mode."""
    for table in ("order_lines", "texts"):
        answer = live.verify(table, mode=mode)
        assert (answer.outcome, answer.error) == ("equal", None)
        assert answer.source_rows == answer.table_rows


@pytest.fixture(scope="module")
def faulty(live: Live) -> TableVerification:
    """Plant a fault of each type, drop a row, double one, add one; verify in the default mode."""
    live.plant("typed", lambda rows: with_faults(rows, FAULTS))
    return live.verify("typed", first=100, shows_values=True)


def test_a_fault_of_each_type_is_found(faulty: TableVerification, live: Live) -> None:
    """The key and the column of each, and nothing else; the doubled, missing and extra rows too."""
    check_faults(faulty, FAULTS)
    every_type = set(live.verify("all_types", mode="keys").compared)
    assert every_type - set(FAULTS) == {"num38"}  # as `num10`


def test_values_show_only_on_request(faulty: TableVerification, live: Live) -> None:
    """Both values of the column that differs; without the option neither."""
    row = next(row for row in faulty.rows if row.columns == ("vc",))
    assert (row.source, row.table) == ({"vc": "Ab"}, {"vc": "ab"})
    assert all(row.source is None for row in live.verify("typed").rows)


def test_narrower_questions(faulty: TableVerification, live: Live) -> None:
    """Keys, some columns, a condition and a sample see what they cover."""
    assert faulty.outcome == "different"
    assert live.verify("typed", mode="keys").counts == {"doubled": 1, "missing": 1, "extra": 1}
    assert live.verify("typed", columns=("i4",), where="id < 58").counts == {"different": 1}
    assert live.verify("typed", where="id between 54 and 57").outcome == "equal"
    assert live.verify("typed", mode="counts", following="as-is").outcome == "different"
    assert live.verify("typed", sample_percent=20.0).source_rows < 30


def test_progress_has_the_rate_and_the_time_left(live: Live) -> None:
    """With each chunk, from the second one on an estimate."""
    steps: list[str] = []
    live.verify("steady", lambda _, step: steps.append(step))
    compared = [step for step in steps if step.startswith("compared ")]
    assert len(compared) == 200
    assert all(
        re.fullmatch(r"compared [\d,]+ of about 20,000 rows, [\d,]+ rows/s, \d+ s left", step)
        for step in compared
    )


def test_a_condition_that_is_not_sql_is_refused(live: Live) -> None:
    """By Spark, before the source is asked, or by the source."""
    assert isinstance(live.verify("scratch", where="id >").error, UsageError)
    assert "does not exist" in str(live.verify("scratch", where="try_add(id, 1) > 1").error)
