"""The parts of a table file that are fixed when the table is created, compared with the table itself.

Hudi trusts most options of a write: with other buckets the table holds old keys twice (apache/hudi#13241),
another table type is ignored.  Type, key and partitions are in Hudi's own properties, and the rest is in the
ledger.  Only a rebuild changes them (`ingest.hudi.upkeep.rebuild`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from ingest.compile.event import COORDINATES
from ingest.errors import TableChangedError
from ingest.hudi.timeline.properties import TableProperties
from ingest.json_values import JsonValue
from ingest.masking import Mask
from ingest.tables import SOURCE, TableConfig

_HIVE_STYLE: Final = "target.hive_style_partitions"
_BEFORE_RECORDED: Final = {
    "types.timestamps": "ntz",
    "rows.where": "",
    "topics": "one",
    "source_table": "",
    "target.table_version": "9",
}
"""Parts that older versions of ingest neither had nor recorded, with their values then."""
_LAYOUT: Final = frozenset(
    {
        "target.type",
        "target.table_version",
        "target.partition_by",
        _HIVE_STYLE,
        "target.index",
        "target.buckets",
        "target.also",
        "key.columns",
    }
)
"""Parts that arrange the rows: the stored values stay as they are."""


@attrs.frozen
class FixedChange(JsonValue):
    """A fixed part with another value in the table file than in the table.  `key` is its dotted path."""

    json_keys = "key from=fixed|null to=value|null"

    key: str
    fixed: str
    value: str

    @property
    def needs_topic(self) -> bool:
        """Whether only the topic has the values: a policy has converted those that the table stores.

        The versions of a history follow its key.
        """
        is_name = self.key.startswith("columns.") and self.key.endswith(".rename")
        if self.key == "key.columns" and _mode(tuple(self.fixed.split(","))) == "history":
            return True
        return self.key not in _LAYOUT and not is_name

    def __str__(self) -> str:
        name = self.key.removeprefix("target.")
        return f"{name} {self.fixed or 'unset'} -> {self.value or 'unset'}"


@attrs.frozen
class FixedChanges:
    """The changes against Hudi's properties, and those against the ledger's record of the last commit.

    Both have the key, type and partitions: they differ after a rebuild that was killed.  `is_whole` is False
    for a table of an older version, without a record.
    """

    properties: tuple[FixedChange, ...] = ()
    recorded: tuple[FixedChange, ...] = ()
    is_whole: bool = True

    @property
    def is_half_done(self) -> bool:
        """Whether the newest commit has the parts of the file, and only the properties differ."""
        return self.is_whole and bool(self.properties) and not self.recorded

    @property
    def all(self) -> tuple[FixedChange, ...]:
        """Return every change once, by key."""
        by_key = {change.key: change for change in (*self.properties, *self.recorded)}
        return tuple(by_key[key] for key in sorted(by_key))


def recorded_parts(table: TableConfig, key_columns: Sequence[str]) -> dict[str, str]:
    """Return the fixed parts of a table file as the ledger keeps them: keys and their values as text."""
    target, types = table.target, table.types
    parts = {
        "target.type": target.type,
        "target.table_version": str(target.table_version),
        "target.mode": target.mode,
        "target.partition_by": ",".join(target.partition_by),
        _HIVE_STYLE: str(target.hive_style_partitions).lower(),
        "target.index": target.index,
        "key.columns": ",".join(key_columns),
        "types.time": types.time,
        "types.nanos": types.nanos,
        "types.timestamps": types.timestamps,
        "rows.where": table.rows.where or "",
        "topics": "several" if _has_sources(table) else "one",
        "source_table": table.source_table or "",
    }
    if target.index == "bucket":
        parts["target.buckets"] = str(target.buckets)
    for name, column in table.columns.items():
        policies = {
            "time": column.time,
            "nanos": column.nanos,
            "rename": column.rename,
            "mask": column.mask,
            "sql": column.sql,
        }
        parts |= {f"columns.{name}.{key}": value for key, value in policies.items() if value}
    documents = table.document.columns.items()
    return parts | {f"document.columns.{name}.path": column.path for name, column in documents}


def find_changes(
    table: TableConfig,
    properties: TableProperties,
    recorded: Mapping[str, str],
    columns: Callable[[], Collection[str]],
    key_columns: Sequence[str] | None = None,
) -> FixedChanges:
    """Compare a table file, and its compiled key if given, with the table.

    `recorded` is the ledger's record.  `columns` is called only for a policy that differs.
    """
    key_columns = _named_key(table) if key_columns is None else key_columns
    # Older versions did not record it: an option under [hudi] chose it, and the folders are as it says.
    folders = {_HIVE_STYLE: str(properties.hive_style).lower()}
    return FixedChanges(
        tuple(_against_properties(table, properties, key_columns)),
        tuple(_against_record(table, {**folders, **recorded}, columns, key_columns)),
        "target.index" in recorded,
    )


def check(table: TableConfig, changes: Iterable[FixedChange]) -> None:
    """Raise TableChangedError for the first change, with the remedy for all of them."""
    found = tuple(changes)
    if found:
        first, source = found[0], "topic" if any(change.needs_topic for change in found) else "table"
        raise TableChangedError(
            f"{table.name}.toml", first.key, first.value or "unset", first.fixed or "unset", source
        )


def recorded_masks(masks: Mapping[str, Mask | None], salt_id: str) -> dict[str, str]:
    """Return the masks of columns as the ledger keeps them: hashes with the id of the salt."""
    return {
        column: f"{mask} (salt {salt_id})" if mask == "hash" else mask
        for column, mask in masks.items()
        if mask
    }


def find_mask_changes(
    masks: Mapping[str, Mask | None],
    salt_id: str,
    recorded: Mapping[str, str],
    columns: Collection[str],
) -> tuple[FixedChange, ...]:
    """Compare the masks of a compiled table, by tags too, with the masks of its stored columns."""
    current = recorded_masks(masks, salt_id)
    return tuple(
        FixedChange(f"columns.{name}.mask", recorded.get(name, ""), current.get(name, ""))
        for name in masks
        if name in columns and recorded.get(name, "") != current.get(name, "")
    )


def compare(table: TableConfig, key: str, value: str, fixed: str) -> None:
    """Raise TableChangedError if a table file and its table have different values of a key."""
    check(table, _differing((key, fixed, value)))


def stored_name(key: str, recorded: Mapping[str, str]) -> str:
    """Return the column that a recorded policy shaped: the policy's own, or its new name."""
    name = key.removeprefix("document.").removeprefix("columns.").rpartition(".")[0]
    return recorded.get(f"columns.{name}.rename", name)


def _named_key(table: TableConfig) -> tuple[str, ...] | None:
    """Return the key that a table file names, or None if the key subject or the mode decides."""
    if not table.key.columns or table.target.mode == "append":
        return None
    names = {name: column.rename for name, column in table.columns.items() if column.rename}
    key = [names.get(name, name) for name in table.key.columns]
    sources = (SOURCE,) if _has_sources(table) else ()
    return (*key, *sources, *(COORDINATES if table.target.mode == "history" else ()))


def _has_sources(table: TableConfig) -> bool:
    """Whether the rows of a table name their topic."""
    return bool(table.topics)


def _against_properties(
    table: TableConfig, properties: TableProperties, key_columns: Sequence[str] | None
) -> Iterator[FixedChange]:
    target, mode = table.target, _mode(properties.keys)
    yield from _differing(
        ("target.mode", mode, target.mode),
        ("target.type", properties.type, target.type),
        ("target.table_version", str(properties.version), str(target.table_version)),
        ("target.partition_by", ",".join(properties.partitions), ",".join(target.partition_by)),
        (
            _HIVE_STYLE,
            str(properties.hive_style).lower(),
            str(target.hive_style_partitions).lower(),
        ),
    )
    if key_columns is not None:
        yield from _differing(("key.columns", ",".join(properties.keys), ",".join(key_columns)))


def _mode(keys: tuple[str, ...]) -> str:
    """Return the mode of a table with a record key."""
    if keys[: len(COORDINATES)] == COORDINATES:
        return "append"
    return "history" if keys[-len(COORDINATES) :] == COORDINATES else "upsert"


def _against_record(
    table: TableConfig,
    recorded: Mapping[str, str],
    columns: Callable[[], Collection[str]],
    key_columns: Sequence[str] | None,
) -> Iterator[FixedChange]:
    """Yield the parts that differ.  Policies of columns that the table lacks are free."""
    recorded = {**_BEFORE_RECORDED, **recorded}
    if table.target.index != "bucket" and recorded.get("target.index", "bucket") != "bucket":
        recorded["target.index"] = table.target.index  # the files are the same
    keys = recorded.get("key.columns", "").split(",") if key_columns is None else key_columns
    parts = recorded_parts(table, keys)
    for name in {**recorded, **parts}:
        value, fixed = parts.get(name, ""), recorded.get(name, "")
        is_policy = name.startswith(("columns.", "document."))
        if value == fixed or not (is_policy or (name in recorded and name in parts)):
            continue
        # The stored rows lack a computed column that is new: it is not free.
        if not is_policy or name.endswith(".sql") or stored_name(name, recorded) in columns():
            yield FixedChange(name, fixed, value)


def _differing(*parts: tuple[str, str, str]) -> Iterator[FixedChange]:
    """Yield the keys with different values."""
    yield from (FixedChange(*part) for part in parts if part[1] != part[2])
