"""The order of each connector's events, on the cases where a simpler order is wrong.

Sources: the connectors' `SourceInfo` classes and live streams; each list is in the right order.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest import avro
from ingest.compile.envelope import Envelope
from ingest.compile.event import form_of
from ingest.compile.position import position_sql, sort_key_sql, terms_of
from ingest.dialects import DIALECTS
from ingest.sql.template import sql

pytestmark = pytest.mark.spark

DDL = {"string": "string", "long": "bigint", "int": "int"}
Source = Mapping[str, Any]


@attrs.frozen
class Case:
    """Source blocks in their order, of one connector; Kafka's offsets follow the list unless given."""

    name: str
    dialect: str
    sources: Sequence[Source]
    ops: str = ""
    offsets: Sequence[int] | None = None


def lsns(*pairs: tuple[int | None, int]) -> list[Source]:
    """Make PostgreSQL's sequences; its own `lsn` is the second number."""
    texts = ("null" if commit is None else f'"{commit}"' for commit, _ in pairs)
    return [
        {"sequence": f'[{text},"{lsn}"]', "lsn": lsn} for text, (_, lsn) in zip(texts, pairs, strict=True)
    ]


def scns(version: str, *pairs: tuple[str | None, str], **more: Any) -> list[Source]:
    """Make Oracle's source blocks of commit SCN and SCN."""
    return [{"version": version, "commit_scn": commit, "scn": scn, **more} for commit, scn in pairs]


CASES = [
    Case(
        "an incremental snapshot's row, then a transaction that was open across it",
        "postgres",
        [{"sequence": '["27054400","27054400"]', "lsn": None}, *lsns((27055512, 27048784))],
        "ru",
    ),
    Case("transactions that commit in another order than they wrote", "postgres",
         lsns((None, 26724968), (None, 27005112), (27005248, 27005024)), "ruu"),
    Case("a snapshot taken again, after rows of the first", "postgres",
         lsns((None, 100), (100, 120), (200, 200)), "rur"),
    Case("an LSN that gains a digit", "postgres", lsns((9, 9), (10, 10), (99, 101)), "ccc"),
    Case("without a sequence, by the LSN (Debezium up to 1.4)", "postgres",
         [{"sequence": None, "lsn": 9}, {"sequence": None, "lsn": 10}], "cu"),
    Case("an SCN that gains a digit", "oracle",
         scns("2.7.0.Final", ("9", "8"), ("10", "9"), ("100", "99")), "ccc"),
    Case("one commit's changes by their own SCN, from 2.5 on", "oracle",
         scns("3.0.0.Final", ("20", "9"), ("20", "10"), ("21", "3")), "cuu", offsets=(7, 5, 1)),
    Case("one commit's changes by their number in the transaction, from 3.2 on", "oracle",
         [*scns("3.2.0.Final", ("20", "9"), txSeq=9), *scns("3.2.0.Final", ("20", "9"), txSeq=10)], "cu",
         offsets=(7, 5)),
    Case("up to 2.4 by Kafka's order within what passes for the commit", "oracle",
         scns("2.1.4.Final", ("20", "12"), ("20", "11"), ("21", "10")), "cuu"),
    Case("a snapshot's row, then a transaction that was open then", "oracle",
         scns("2.7.0.Final", (None, "2122184"), ("2122185", "2122100")), "ru"),
    Case("the same up to 2.4, where the transaction has no commit SCN, and then a new snapshot", "oracle",
         scns("2.1.4.Final", (None, "862"), (None, "853"), ("868", "865"), (None, "990"), (None, "980")),
         "rudru"),
    Case("up to 2.4 a redo thread that was idle", "oracle",
         scns("2.4.2.Final", ("90", "95"), ("40", "99")), "uu"),
    Case("events of 2.4, then those of 2.7 in other places of the topic", "oracle",
         [*scns("2.4.2.Final", ("90", "95")), *scns("2.7.0.Final", ("96", "95"))], "uu", offsets=(9, 3)),
    Case("a transaction that was open at the snapshot, by XStream before 3.3", "oracle",
         [*scns("2.7.0.Final", (None, "3691131")),
          {"version": "2.7.0.Final", "scn": "3691126",
           "lcr_position": "000000000038527c00000001000000010000000000385276000000010000000102"}], "ru"),
    Case("XStream's positions, longer is later", "oracle",
         [{"version": "3.2.0.Final", "scn": "5", "lcr_position": p} for p in ("0fff", "1000", "a000a")],
         "ccc"),
    Case("a binary log's number beyond six digits", "mysql",
         [{"file": f"mysql-bin.{file}", "pos": pos, "row": row}
          for file, pos, row in (("999999", 9, 0), ("1000000", 4, 0), ("1000000", 4, 1), ("1000000", 10, 0))],
         "rcuu"),
    Case("documents by Kafka's order", "mongodb", [{}, {}, {}], "rud"),
    Case("CDL by its LSN", "cdl", [{"lsn": 9}, {"lsn": 10}, {"lsn": 10}], "cuu"),
]  # fmt: skip


def envelope(dialect: str) -> Envelope:
    """Make an envelope as far as a form needs it."""
    form = "document" if DIALECTS[dialect].is_document else "debezium"
    return Envelope(form, avro.Record("e", ()), avro.Record("r", ()), DIALECTS[dialect])


def positions(spark: SparkSession, case: Case) -> list[str]:
    """Let Spark make the position of each event, in the list's order, from rows in another."""
    dialect = DIALECTS[case.dialect]
    fields = {**dialect.source, "ts_ms": "long"}
    source = "struct<" + ",".join(f"{name}:{DDL[kind]}" for name, kind in fields.items()) + ">"
    offsets = case.offsets or range(50, 50 + len(case.sources))
    rows = [
        (n, ((op, tuple(block.get(name) for name in fields)),), offset)
        for n, (op, block, offset) in enumerate(zip(case.ops, case.sources, offsets, strict=True))
    ]
    random.Random(3).shuffle(rows)  # noqa: S311  no secret
    schema = f"n int, event struct<value:struct<op:string,source:{source}>>, offset bigint"
    form = form_of(envelope(case.dialect), dialect)
    places = spark.createDataFrame(rows, schema).selectExpr(
        "n", str(sort_key_sql(dialect, form).alias("sort_key"))
    )
    ranked = places.selectExpr(
        "n",
        str(position_sql(terms_of(dialect, form), 0, sql("sort_key")).alias("position")),
        "row_number() over (order by sort_key) as rank",
    )
    result = sorted(ranked.collect())
    assert [row["rank"] for row in result] == sorted(row["rank"] for row in result), "places are in order"
    return [row["position"] for row in result]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}: {case.name}")
def test_events_sort_as_their_source_changed(spark: SparkSession, case: Case) -> None:
    """By place in a fold, and by the position's text in a table, which has one width."""
    result = positions(spark, case)
    assert result == sorted(result)
    assert len(set(result)) == len(result)
    assert len({len(position) for position in result}) == 1


def test_an_order_by_the_lsn_alone_would_keep_the_stale_row() -> None:
    """The trap that `sequence` is there for: the later change has the smaller LSN."""
    row, change = CASES[0].sources
    stale = int(str(row["sequence"]).split('"')[3])
    assert stale > change["lsn"]


@pytest.mark.parametrize(
    ("dialect", "source"),
    [
        ("postgres", {"sequence": None, "lsn": None}),
        ("postgres", {"sequence": "rubbish", "lsn": None}),
        ("postgres", {"sequence": '["26x6712","26726720"]', "lsn": 26726720}),
        ("postgres", {"sequence": None, "lsn": -(2**63)}),
        ("oracle", {"version": "2.1.4.Final", "scn": None, "commit_scn": None}),
        ("oracle", {"version": "2.1.4.Final", "scn": "0x12"}),
        ("oracle", {"version": "2.1.4.Final", "scn": "1" * 21}),
        ("oracle", {"version": "2.1.4.Final", "scn": ""}),
        ("oracle", {"version": "2\x0e1.4.Final", "scn": "5"}),
        ("oracle", {"version": "2.7.0.Final", "scn": "5", "lcr_position": "00000g38"}),
        ("mysql", {"file": "no number", "pos": 1, "row": 0}),
        ("mysql", {"file": "bin.000001", "pos": None, "row": 0}),
        ("mysql", {"file": "bin.00001 ", "pos": 1, "row": 0}),
        ("sqlserver", {"commit_lsn": "00000025:00000d98:00a2:1"}),
        ("sqlserver", {"commit_lsn": "00000025:00000d98:00a2", "change_lsn": "000\t0025:00000d98:00a2"}),
        ("cdl", {"lsn": None}),
    ],
)
def test_a_source_without_a_place_is_a_fault(spark: SparkSession, dialect: str, source: Source) -> None:
    """Missing or malformed, never guessed."""
    connector = DIALECTS[dialect]
    fields = {**connector.source, "ts_ms": "long"}
    ddl = "struct<" + ",".join(f"{name}:{DDL[kind]}" for name, kind in fields.items()) + ">"
    block = tuple(source.get(name) for name in fields)
    frame = spark.createDataFrame([((("u", block),),)], f"event struct<value:struct<op:string,source:{ddl}>>")
    form = form_of(envelope(dialect), connector)
    faults = " or ".join(f"coalesce({form.resolve(term.fault)}, false)" for term in connector.terms)
    assert frame.selectExpr(f"{faults} as bad").collect()[0]["bad"]
