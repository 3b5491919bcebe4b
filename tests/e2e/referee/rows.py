"""Rows by primary key, of source and table, and their differences."""

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from pyspark.sql import DataFrame

from tests.e2e.recordings import Recording
from tests.e2e.referee import mongodb, mysql, oracle, postgres, sqlserver
from tests.e2e.referee.kind import Allowed, Kind

Rows = dict[tuple[Any, ...], dict[str, Any]]
_SOURCES = {
    "sqlserver": sqlserver.kind_of,
    "postgres": postgres.kind_of,
    "oracle": oracle.kind_of,
    "mongodb": mongodb.kind_of,
    "mysql": mysql.kind_of,
}


@attrs.frozen
class Expected:
    """The expected content of a table: rows by key, the key's columns, and each column's kind."""

    rows: Rows
    keys: tuple[str, ...]
    kinds: Mapping[str, Kind]


def read_expected(recording: Recording, table: str) -> Expected:
    """Read the referee's rows of a table, with the column names of the events."""
    with gzip.open(recording.folder / "expected" / f"{table}.json.gz", "rt", encoding="utf-8") as file:
        recorded = json.load(file)
    rename = postgres.field_name if recording.source in {"mysql", "postgres"} else str
    names = [rename(column["name"]) for column in recorded["columns"]]
    kinds = {
        name: _SOURCES[recording.source](column["type"])
        for name, column in zip(names, recorded["columns"], strict=True)
    }
    keys = tuple(rename(name) for name in recorded["primary_key"])
    rows: Rows = {}
    for texts in recorded["rows"]:
        row = {
            name: None if text is None else kinds[name].expected(text)
            for name, text in zip(names, texts, strict=True)
        }
        rows[tuple(row[name] for name in keys)] = row
    return Expected(rows, keys, kinds)


def read_table(frame: DataFrame, keys: Sequence[str], kinds: Mapping[str, Kind] | None = None) -> Rows:
    """Read a Hudi table into the same form; fails on more than one row per key."""
    rows = (row.asDict() for row in frame.selectExpr(*_columns(frame)).collect())
    return by_key([{name: _plain(value) for name, value in row.items()} for row in rows], keys, kinds or {})


def by_key(records: Sequence[Mapping[str, Any]], keys: Sequence[str], kinds: Mapping[str, Kind]) -> Rows:
    """Convert a table's values to the referee's, row by key."""
    rows: Rows = {}
    for values in records:
        row = {
            name: kinds[name].found(value) if name in kinds and value is not None else value
            for name, value in values.items()
        }
        key = tuple(row[name] for name in keys)
        assert key not in rows, f"two rows for key {key}"
        rows[key] = row
    return rows


def differences(expected: Rows, actual: Rows) -> list[str]:
    """Return a line for every differing cell, missing row and extra row."""
    wrong = [f"missing row {key}" for key in expected.keys() - actual.keys()]
    wrong += [f"row too many {key}" for key in actual.keys() - expected.keys()]
    for key in expected.keys() & actual.keys():
        wrong += [
            f"{key}.{name}: expected {value!r}, found {actual[key].get(name)!r}"
            for name, value in expected[key].items()
            if name not in actual[key] or not _agrees(value, actual[key][name])
        ]
    return sorted(wrong)


def _agrees(expected: Any, actual: Any) -> bool:
    return expected.accepts(actual) if isinstance(expected, Allowed) else expected == actual


def _columns(frame: DataFrame) -> list[str]:
    """Select the row's columns; an instant as microseconds, independent of this process's time zone."""
    return [
        f"unix_micros(`{name}`) as `{name}`" if kind == "timestamp" else f"`{name}`"
        for name, kind in frame.dtypes
        if not name.startswith(("_cdc_", "_hoodie_"))
    ]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value
