"""A batch ready to commit: decoded, reduced, and fitted to its table."""

from collections.abc import Iterable, Mapping

import attrs
from pyspark.sql import DataFrame

from ingest.compile.event import DELETED
from ingest.compile.policy import ALL_ALLOWED, Refused
from ingest.decode.diagnosis import explain
from ingest.names import Partition, SchemaId
from ingest.order.changes import Changes
from ingest.run.batch.table_state import Ahead, TableState
from ingest.spark.planned_queries import Plans


@attrs.frozen
class PreparedBatch(Changes):
    """Changes with the rejected messages, and the table as it was before."""

    rejects: DataFrame | None
    state: TableState
    refused: Refused = attrs.field(default=ALL_ALLOWED, hash=False)
    """Schemas with changes that a policy of the table file rejects, and the reasons."""
    plans: Plans | None = attrs.field(default=None, eq=False)
    """As in the `Batch`."""
    condition_reads: tuple[str, ...] = ()
    """The columns that the condition of the table file reads."""
    starts: Mapping[Partition, int] | None = None
    """As in the `Batch`."""

    def explained(self, rejects: DataFrame) -> DataFrame:
        """Add to rejected messages their schema id and the reason."""
        return explain(rejects, self.compiled, self.refused)

    @property
    def rewrites(self) -> tuple[str, ...]:
        """The columns that need the whole table rewritten: by their type, or because `delete` changed."""
        columns = self.state.columns
        changed = columns is not None and (DELETED in columns) != self.compiled.model.marks_deletes
        return (*self.evolution.rewrites, *([DELETED] if changed else []))

    @property
    def has_tombstone_ends(self) -> bool:
        """Whether a tombstone without its delete ends a version."""
        return self.compiled.model.has_versions and self.counts.bare_tombstones > 0

    @property
    def key_names(self) -> list[str]:
        """The columns of the record key."""
        return list(self.compiled.record_key)

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """The schemas that wrote messages of the batch."""
        return tuple(schema_id for schema_id in self.counts.schema_ids if schema_id > 0)

    def met_after(self, earlier: Iterable[SchemaId]) -> tuple[SchemaId, ...]:
        """Return the schemas met so far: earlier ones, then the batch's by version."""
        return tuple(dict.fromkeys((*earlier, *self.compiled.value.in_version_order(self.schema_ids))))

    def state_after(self, rows: DataFrame) -> TableState:
        """Return the state of the table when the rows of the batch are written, for its other topics."""
        columns = {column.name: column.spark for column in (*self.evolution.keys, *self.evolution.columns)}
        ahead = self.state.ahead.rows if self.state.ahead else ()
        return TableState(
            {**(self.state.columns or {}), **columns},
            self.met_after(self.state.met_ids),
            Ahead(tuple(self.key_names), (*ahead, rows), not self.state.exists),
        )
