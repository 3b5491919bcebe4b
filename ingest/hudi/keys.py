"""Values that a record key and a partition path can hold: Hudi writes both as text.

Measured on Hudi 1.2.0 (tests/hudi/test_keys.py).  One key column gives its bare text (not in every version:
HUDI-7001, HUDI-9666), several give `a:<text>,b:<text>`.  A partition column is read back from its folder's
name.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from ingest.errors import SchemaError
from ingest.sql.template import Sql, join, literal, sql

KEY_TYPES: Final = frozenset(
    {"int", "bigint", "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary"}
)
PARTITION_TYPES: Final = frozenset({"int", "bigint", "string", "boolean", "date"})
ROW_WRITER_TYPES: Final = KEY_TYPES - {"timestamp", "timestamp_ntz", "binary"}
"""Key types with the same text in Hudi's row writer and in its upserts."""
UNSAFE_PARTITIONS: Final = ("", ".", "..", "__HIVE_DEFAULT_PARTITION__")
"""Texts that cannot name a folder: the row would be lost, or its column read back as null."""


def unsafe_key_type(ddl: str) -> str | None:
    """Say why a type cannot be a record key, or return None if it can."""
    kind = ddl.lower()
    if kind in KEY_TYPES or kind.startswith("decimal("):
        return None
    if kind in ("float", "double"):
        return "its text differs between Java versions (before and from 19), and so would the key"
    if kind in ("tinyint", "smallint"):
        return "Hudi stores it as int; cast it before"
    return "a record key needs one plain value"


def check_key_types(table: str, kinds: Mapping[str, str]) -> None:
    """Refuse types that cannot be a record key.  `kinds` are the key columns' types.  Raises SchemaError."""
    for name, kind in kinds.items():
        if reason := unsafe_key_type(kind):
            raise SchemaError(f"table {table}", f"$.{name}", f"{kind} as key: {reason}")


def is_row_writer_key(ddl: str) -> bool:
    """Whether Hudi's row writer makes the key that upserts look for."""
    kind = ddl.lower()
    return kind in ROW_WRITER_TYPES or kind.startswith("decimal(")


def unsafe_key_change(present: str, incoming: str) -> str | None:
    """Say why a key column's new type would change the text of old keys, or return None if it would not.

    Hudi takes int -> bigint and decimals that grow, and finds the old rows again only if the text stays.
    """
    old, new = present.lower(), incoming.lower()
    same_text = old == new or {old, new} == {"int", "bigint"}
    if same_text or (_scale(old) is not None and _scale(old) == _scale(new)):
        return None
    return f"The record keys written as {present} read otherwise as {incoming}: rows would be doubled"


def unsafe_partition_type(ddl: str) -> str | None:
    """Say why a type cannot be a partition column, or return None if it can.

    The column is read back from the folder's name: a timestamp as null or not at all, bytes as hex.
    """
    kind = ddl.lower()
    if kind in PARTITION_TYPES or kind.startswith("decimal("):
        return None
    return "Hudi reads it back wrongly from the folder's name"


def unsafe_texts(
    key: Mapping[str, str], column: Callable[[str], Sql], partition_by: Sequence[str]
) -> tuple[tuple[Sql, str], ...]:
    """Return the conditions under which a key, without nulls, cannot be written, each with its reason.

    `key` maps the key columns, in their order, to their Spark types.  `column` gives a column's value.
    """
    inside = [name for name in partition_by if name in key]
    return (*_empties(key, column), *_ambiguous(key, column), *unsafe_folders(inside, key, column))


def unsafe_folders(
    partition_by: Sequence[str], kinds: Mapping[str, str], column: Callable[[str], Sql]
) -> tuple[tuple[Sql, str], ...]:
    """Return the same for texts that cannot name a folder.  Null has a folder (deletes have it)."""
    texts = join(", ", map(literal, UNSAFE_PARTITIONS))
    return tuple(
        (
            sql("{c} in ({texts})", c=column(name), texts=texts),
            f"partition column {name} holds a text that cannot name a folder",
        )
        for name in partition_by
        if kinds.get(name, "string").lower() == "string"
    )


def _empties(key: Mapping[str, str], column: Callable[[str], Sql]) -> list[tuple[Sql, str]]:
    """Refuse a key without any text, as Hudi does, and the sign it writes for an empty part (HUDI-327)."""
    texts = [name for name, ddl in key.items() if ddl.lower() in ("string", "binary")]
    rules = []
    if len(texts) == len(key):
        all_empty = join(" and ", (sql("length({c}) = 0", c=column(name)) for name in texts))
        rules.append((all_empty, "the key is an empty text, which Hudi cannot store as a record key"))
    if len(key) > 1:
        rules += [
            (sql("{c} = '__empty__'", c=column(name)), f"key column {name} holds Hudi's sign for ''")
            for name, ddl in key.items()
            if ddl.lower() == "string"
        ]
    return rules


def _ambiguous(key: Mapping[str, str], column: Callable[[str], Sql]) -> list[tuple[Sql, str]]:
    """Refuse a text with `,<next column>:` in it: two keys could give one record key."""
    return [
        (
            sql("contains({c}, {mark})", c=column(name), mark=literal(f",{following}:")),
            f"key column {name} holds ',{following}:', which parts the columns of a record key",
        )
        for (name, ddl), following in ((pair[0], pair[1][0]) for pair in pairwise(key.items()))
        if ddl.lower() == "string"
    ]


def _scale(ddl: str) -> str | None:
    """Take the scale of a decimal."""
    return ddl.removesuffix(")").split(",")[1].strip() if ddl.startswith("decimal(") else None
