"""The parts of a table file that are fixed when the table is created, compared with the table itself.

Hudi trusts most options of a write: with other buckets the table holds old keys twice (apache/hudi#13241),
another table type is ignored.  Type, key and partitions are in Hudi's own properties; the rest is in the
ledger.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from ingest.errors import TableChangedError
from ingest.hudi.properties import TableProperties
from ingest.tables import TableConfig

_BEFORE_RECORDED: Final = {"types.timestamps": "ntz"}
"""Parts that older versions of ingest neither had nor recorded, with their values then."""
APPEND_KEY: Final = ("_cdc_partition", "_cdc_offset")
"""The record key of a table in mode `append`."""


def recorded_parts(table: TableConfig, key_columns: Sequence[str]) -> dict[str, str]:
    """Return the fixed parts of a table file as the ledger keeps them: keys and their values as text."""
    target, types = table.target, table.types
    parts = {
        "target.type": target.type,
        "target.mode": target.mode,
        "target.partition_by": ",".join(target.partition_by),
        "target.index": target.index,
        "key.columns": ",".join(key_columns),
        "types.time": types.time,
        "types.nanos": types.nanos,
        "types.timestamps": types.timestamps,
    }
    if target.index == "bucket":
        parts["target.buckets"] = str(target.buckets)
    for name, column in table.columns.items():
        policies = {"time": column.time, "nanos": column.nanos, "rename": column.rename}
        parts |= {f"columns.{name}.{key}": value for key, value in policies.items() if value}
    documents = table.document.columns.items()
    return parts | {f"document.columns.{name}.path": column.path for name, column in documents}


def check_properties(table: TableConfig, properties: TableProperties) -> None:
    """Compare a table file with Hudi's properties of the table.  Raises TableChangedError."""
    target = table.target
    compare(table, "target.mode", target.mode, "append" if properties.keys == APPEND_KEY else "upsert")
    compare(table, "target.type", target.type, properties.type)
    compare(table, "target.partition_by", ",".join(target.partition_by), ",".join(properties.partitions))


def check_key(table: TableConfig, key_columns: Sequence[str], properties: TableProperties) -> None:
    """Compare the key columns of the compiled table with those of the table.  Raises TableChangedError."""
    compare(table, "key.columns", ",".join(key_columns), ",".join(properties.keys))


def check_recorded(
    table: TableConfig, recorded: Mapping[str, str], columns: Callable[[], Collection[str]]
) -> None:
    """Compare a table file with the ledger's record; policies of columns that the table lacks are free.

    Calls `columns` only for a policy that differs.  Raises TableChangedError.
    """
    recorded = {**_BEFORE_RECORDED, **recorded}
    parts = recorded_parts(table, recorded.get("key.columns", "").split(","))
    for name in {**recorded, **parts}:
        value, fixed = parts.get(name, ""), recorded.get(name, "")
        is_policy = name.startswith(("columns.", "document."))
        if value == fixed or not (is_policy or (name in recorded and name in parts)):
            continue
        if not is_policy or _stored_as(name, recorded) in columns():
            compare(table, name, value, fixed)


def compare(table: TableConfig, key: str, value: str, fixed: str) -> None:
    """Raise TableChangedError where a table file and its table have different values of a key."""
    if value != fixed:
        raise TableChangedError(f"{table.name}.toml", key, value or "unset", fixed or "unset")


def _stored_as(key: str, recorded: Mapping[str, str]) -> str:
    """Return the column that a recorded policy shaped: the policy's own, or its new name."""
    name = key.removeprefix("document.").removeprefix("columns.").rpartition(".")[0]
    return recorded.get(f"columns.{name}.rename", name)
