"""The key of a table that is a part of its topic, found in the keys of the table's messages."""

from collections.abc import Sequence
from typing import Final

from ingest import avro
from ingest.compile.payload import WriterSchema

_IDENTIFIER: Final = "__dbz__physicalTableIdentifier"
"""The field that ByLogicalTableRouter adds to message keys (`key.enforce.uniqueness`)."""
_TODO: Final = "name the columns that are unique with --key, or keep every change with --append"


def find_key(
    keys: Sequence[WriterSchema], row: avro.Record, declared: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """Return the columns that message keys name, all of them columns of the row, and an empty problem.

    `declared` columns are for tables with messages that have no key, or a key with fields that are not
    columns.
    """
    found_keys = dict.fromkeys(
        tuple(field.name for field in key.schema.fields if field.name != _IDENTIFIER)
        for key in keys
        if isinstance(key.schema, avro.Record)
    )
    problem = _problem(tuple(filter(None, found_keys)), row)
    if not problem:
        return next(filter(None, found_keys)), ""
    return (declared, "") if declared else ((), f"{problem}: {_TODO}")


def _problem(keys: Sequence[tuple[str, ...]], row: avro.Record) -> str:
    if not keys:
        return "its messages have no key"
    if len(keys) > 1:
        texts = " and ".join(f"({', '.join(columns)})" for columns in keys)
        return f"its messages have different keys, {texts}"
    columns = {field.name for field in row.fields}
    missing = [name for name in keys[0] if name not in columns]
    return f"its keys have {', '.join(missing)}, not a column of its rows" if missing else ""
