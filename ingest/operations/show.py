"""What holds for a table, with the origin of each value, next to rows as text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from ingest.settings import LakeSettings
from ingest.tables import TableConfig, Value, values_of


@attrs.frozen
class TableView:
    """The values that hold for a table, and rows as texts by column, or None if none were asked for."""

    table: str
    file: Path | None
    path: str
    """The table's folder in the lake."""
    values: tuple[Value, ...]
    rows: tuple[Mapping[str, str | None], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        values = [{"key": v.key, "value": v.value, "from": v.origin} for v in self.values]
        content = {"table": self.table, "file": str(self.file), "path": self.path, "values": values}
        return content if self.rows is None else {**content, "rows": [dict(row) for row in self.rows]}


def view_table(lake: LakeSettings, table: TableConfig) -> TableView:
    """Return the values that hold for a table.  Needs neither Spark nor the registry."""
    return TableView(table.name, table.origins.path, lake.table_path(table.name), values_of(table))
