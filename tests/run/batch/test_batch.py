"""Stray messages of another connector are rejected; many of them are a change of the topic."""

import json
from typing import Any

import attrs
import pytest

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import compile_table
from ingest.names import SchemaId
from ingest.order.batch_counts import BatchCounts
from ingest.run.batch.batch import Assumptions, Attempt, Batch
from ingest.run.batch.table_state import TableState
from ingest.testing import Topic
from ingest.testing.servers import Memory
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, envelope, key, table, written
from tests.feeds import feed

STRANGER = SchemaId(999)


def attempt(rejected: int, *, version: int = 0, **evolution: str) -> Attempt:
    """Decode a thousand messages, some of them PostgreSQL's."""
    node = Topic.begin("s.p.t", ID, Memory(), connector="postgres").envelope(ID)
    stranger = WriterSchema(STRANGER, "schema id 999", avro.parse(json.dumps(node)), version=version)
    chosen = attrs.evolve(table(), evolution=evolution)
    keys, values = [written(KEY_ID, key(ID))], [written(VALUE_ID, envelope(ID)), stranger]
    compiled = compile_table(feed(chosen), keys, values)
    counts = BatchCounts(
        upserted=1_000 - rejected, rejected=rejected, schema_ids=(VALUE_ID,), rejected_ids=(STRANGER,)
    )
    nothing: Any = None
    batch = Batch(feed(chosen), TableState(None), nothing, nothing)
    return Attempt(batch, Assumptions(tuple(keys), tuple(values)), compiled, nothing, counts, nothing)


@pytest.mark.parametrize("version", [0, 2], ids=["found by its id", "registered for the topic"])
def test_a_few_stray_messages_do_not_stop_a_table(version: int) -> None:
    """As many as [rejects] allows: a hundredth by default."""
    assert attempt(1, version=version).evolution.failing == ()
    assert attempt(10, version=version).evolution.failing == ()
    (failure,) = attempt(11, version=version).evolution.failing
    assert failure.kind == "envelope-changed"


def test_a_table_file_that_names_the_change_decides_about_any() -> None:
    """One message is enough then."""
    (failure,) = attempt(1, **{"envelope-changed": "fail"}).evolution.failing
    assert failure.kind == "envelope-changed"
    assert list(attempt(1, **{"envelope-changed": "reject"}).evolution.refused) == [STRANGER]
