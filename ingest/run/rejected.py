"""What becomes of records that cannot be read: what may still save them, and when there are too many."""

from collections.abc import Sequence

import attrs
from pyspark.sql import DataFrame

from ingest.compile.side import Written
from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.diagnosis import explain, unknown_frames, unknown_ids
from ingest.errors import DecodeError, SchemaError, UnmappedTypeError
from ingest.order.tally import Tally
from ingest.registry import Registry
from ingest.run.messages import written_in
from ingest.run.schemas import Sides, fetch_by_id
from ingest.tables import Table


def compile_written(table: Table, keys: Sequence[Written], values: Sequence[Written]) -> CompiledTable:
    """Compile a table; versions that cannot be compiled are left out, so that what they wrote is rejected.

    Raises `SchemaError` or `UnmappedTypeError` where no version can be.
    """
    try:
        return compile_table(table, keys, values)
    except (SchemaError, UnmappedTypeError) as error:
        culprit = next((one for one in values if _problem(table, keys, one) == str(error)), None)
        others = [one for one in values if one is not culprit]
        if culprit is None or not others:
            raise
        compiled = compile_written(table, keys, others)
        return attrs.evolve(compiled, unmapped=((culprit, str(error)), *compiled.unmapped))


def fetch_more(registry: Registry, rejects: DataFrame, compiled: CompiledTable, known: Sides) -> Sides:
    """Find the schemas of rejected records that are no versions of a subject, or that were not sampled."""
    keys, values = known
    if compiled.table.format == "avro":
        named = zip(unknown_ids(rejects, compiled), known, strict=True)
        more = [
            fetch_by_id(registry, set(ids).difference(one.schema_id for one in tried)) for ids, tried in named
        ]
        return more[0], more[1]
    if any(not one.frame for one in values):
        return (), ()  # declared: what a message holds is not looked at
    topic = compiled.table.topic
    new_keys = written_in(unknown_frames(rejects, "key", compiled.key), f"keys of topic {topic}", keys)
    frames = unknown_frames(rejects, "value", compiled.value)
    return new_keys, written_in(frames, f"values of topic {topic}", values)


def check_bounds(rejects: DataFrame, compiled: CompiledTable, counts: Tally) -> None:
    """Stop a run that would set aside more than the table file allows, or a truncate that must stop it.

    Raises `DecodeError` for the first rejected record.
    """
    if compiled.table.target.truncate == "fail":
        _check_truncates(rejects, compiled)
    bounds = compiled.table.rejects
    allowed = bounds.allowed(counts.read)
    if counts.rejected <= allowed:
        return
    first = rejects.orderBy("partition", "offset").limit(1)
    row = explain(first, compiled).collect()[0]
    bound = (
        f"{counts.rejected:,} of {counts.read:,} messages are rejected, and [rejects] allows {allowed:,} "
        f"(max_rows = {bounds.max_rows}, max_share = {bounds.max_share:g})"
    )
    topic = compiled.table.topic
    raise DecodeError(
        topic, row.partition, row.offset, row.error, counts.rejected, bound if bounds.max_rows else ""
    )


def _check_truncates(rejects: DataFrame, compiled: CompiledTable) -> None:
    truncates = explain(rejects, compiled).where("reason = 'truncate'")
    for row in truncates.orderBy("partition", "offset").limit(1).collect():
        raise DecodeError(compiled.table.topic, row.partition, row.offset, row.error)


def _problem(table: Table, keys: Sequence[Written], value: Written) -> str:
    """Say why one version cannot be compiled; empty if it can."""
    try:
        compile_table(table, keys, (value,))
    except (SchemaError, UnmappedTypeError) as error:
        return str(error)
    return ""
