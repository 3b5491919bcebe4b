"""What holds for a table, with the origin of each value, next to rows as text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from ingest.json_values import JsonValue, unstructure
from ingest.settings import LakeSettings
from ingest.tables import TableConfig, Value, values_of


@attrs.frozen
class TableView(JsonValue):
    """The values that hold for a table, and rows as texts by column, or None if none were asked for."""

    json_keys = "table file path values"

    table: str
    file: Path | None
    path: str
    """The table's folder in the lake."""
    values: tuple[Value, ...]
    rows: tuple[Mapping[str, str | None], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        rows = {} if self.rows is None else {"rows": unstructure(self.rows)}
        return super().to_json() | rows


def view_table(lake: LakeSettings, table: TableConfig) -> TableView:
    """Return the values that hold for a table.  Needs neither Spark nor the registry."""
    return TableView(table.name, table.origins.path, lake.table_path(table.name), values_of(table))
