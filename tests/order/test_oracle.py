"""Oracle's order: the newest change of a key, against a model of the connector."""

from collections import Counter
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession

from ingest.compile.event import form_of
from ingest.compile.position import position_sql, sort_key_sql, terms_of
from ingest.dialects import DIALECTS
from ingest.sql.template import sql
from tests.order.oracle_source import KEYS, Oracle, block, lived
from tests.order.test_connectors import envelope

pytestmark = pytest.mark.spark

SEEDS = range(400)
VERSIONS = {True: "2.1.4.Final", False: "2.7.0.Final"}
EVENT = (
    "struct<value:struct<op:string,source:struct<"
    "version:string,scn:string,commit_scn:string,lcr_position:string,txSeq:bigint,ts_ms:bigint>>>"
)
EARLY = pytest.mark.parametrize("is_early", [True, False], ids=["2.1", "2.7"])


def newest(spark: SparkSession, sources: dict[int, Oracle], version: str) -> dict[int, dict[int, int]]:
    """Return the rows that the newest changes leave, by the positions of all events."""
    oracle = DIALECTS["oracle"]
    form = form_of(envelope("oracle"), oracle)
    fields = ("version", "scn", "commit_scn", "lcr_position", "txSeq", "ts_ms")
    rows = [
        (seed, e.row, e.value, ((e.op, tuple(block(e, version).get(name) for name in fields)),), offset)
        for seed, source in sources.items()
        for offset, e in enumerate(source.events)
    ]
    events = spark.createDataFrame(rows, f"seed int, id int, value int, event {EVENT}, offset bigint")
    ordered = events.selectExpr("*", str(sort_key_sql(oracle, form).alias("sort_key")))
    position = position_sql(terms_of(oracle, form), 0, sql("sort_key")).alias("position")
    placed = ordered.selectExpr("*", str(position))
    last = placed.groupBy("seed", "id").agg({"position": "max"}).collect()
    results: dict[int, dict[int, int]] = {seed: {} for seed in sources}
    values = {(row["seed"], row["position"]): row["value"] for row in placed.collect()}
    for row in last:
        value = values[row["seed"], row["max(position)"]]
        if value is not None:
            results[row["seed"]][row["id"]] = value
    return results


@EARLY
def test_the_newest_position_of_a_key_is_its_last_change(
    spark: SparkSession,
    is_early: bool,  # noqa: FBT001
) -> None:
    """With pending transactions, new and incremental snapshots, restarts and two redo threads."""
    sources = {seed: lived(seed, is_early=is_early) for seed in SEEDS}
    result = newest(spark, sources, VERSIONS[is_early])
    assert {seed: rows for seed, rows in result.items() if rows != sources[seed].rows} == {}


@EARLY
def test_the_model_has_the_cases_where_simpler_orders_are_wrong(is_early: bool) -> None:  # noqa: FBT001
    """Changes below the snapshot's SCN, events without a commit SCN, commit SCNs that fall within a key."""
    below, null, falling = Counter[int](), Counter[int](), Counter[int]()
    for seed in SEEDS:
        events = lived(seed, is_early=is_early).events
        for row in KEYS:
            mine = [event for event in events if event.row == row]
            for old, new in pairwise(mine):
                below[seed] += old.op == "r" and new.op != "r" and new.scn < old.scn
                null[seed] += new.op != "r" and new.commit_scn is None
                falling[seed] += (new.commit_scn or 0) < (old.commit_scn or 0)
    assert len(+below) > 20
    assert (len(+null) > 20) == is_early
    assert len(+falling) > 20
