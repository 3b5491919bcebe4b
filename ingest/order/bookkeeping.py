"""The `_cdc_` columns of a row."""

from ingest.compile.position import position_sql, without_partition_terms
from ingest.compile.table import CompiledTable
from ingest.sql.template import Sql, join, sql


def bookkeeping(compiled: CompiledTable, event: Sql, position: Sql | None = None) -> list[Sql]:
    """Return the `_cdc_` columns of the deciding event, with `position` in place of the event's if given."""
    return [
        event.field("op").alias("_cdc_op"),
        (position or position_of(compiled, event)).alias("_cdc_position"),
        sql("timestamp_millis({ms})", ms=event.field("source_ms")).alias("_cdc_source_ts"),
        _schema_id(compiled, event).alias("_cdc_schema_id"),
        event.field("partition").alias("_cdc_partition"),
        event.field("offset").alias("_cdc_offset"),
    ]


def position_of(compiled: CompiledTable, event: Sql) -> Sql:
    """Return the position of an event."""
    return position_sql(compiled.terms, compiled.table.epoch, event.field("sort_key"))


def older_position_sql(compiled: CompiledTable, position: Sql, truncate: Sql) -> Sql:
    """Return a condition that is true for a row's position that is older than a truncate's."""
    return sql(
        "{row} < {end}",
        row=without_partition_terms(compiled.terms, position),
        end=without_partition_terms(compiled.terms, truncate),
    )


def _schema_id(compiled: CompiledTable, event: Sql) -> Sql:
    ids = [(index, schema_id) for index, schema_id in enumerate(compiled.schema_ids) if schema_id > 0]
    if not ids:
        return sql("cast(null as int)")
    branches = (sql("when {n} then {id}", n=index, id=schema_id) for index, schema_id in ids)
    return sql("case {writer} {branches} end", writer=event.field("writer"), branches=join(" ", branches))
