"""A signal as a statement to run in the source: SQL, or for MongoDB a line of mongosh."""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from ingest.errors import UsageError
from ingest.operations.signal import COLLECTION_PARTS, Signal

_NAME_PART: Final = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_$#]*")


def statement(signal: Signal, signal_table: str) -> str:
    """Return the statement that writes a signal into its source's signal table.

    `signal_table` is named as in the connector's `signal.data.collection`.  The values are ASCII: the JSON
    escapes all else.
    """
    dialect = signal.connector.dialect
    if dialect == "mongodb":
        return _mongosh(signal, signal_table)
    name = _quote_name(dialect, signal_table)
    values = ", ".join(_literal(dialect, text) for text in (signal.id, signal.kind, _json(signal)))
    return f"INSERT INTO {name} (id, type, data) VALUES ({values});"  # noqa: S608  quoted, and run by a person


def _json(signal: Signal) -> str:
    text = json.dumps(signal.data)
    # SQL*Plus and SQL Developer replace `&name` by a value that they ask for.
    return text.replace("&", "\\u0026") if signal.connector.dialect == "oracle" else text


def _name_parts(text: str) -> list[str]:
    """Split a dotted name.  A part in double quotes may have dots."""
    parts = list(_NAME_PART.finditer(text))
    if not parts or ".".join(part[0] for part in parts) != text:
        raise UsageError(f"--signal-table {text}: not a name", "Write it as in `signal.data.collection`")
    return [part[2] or part[1].replace('""', '"') for part in parts]


def _quote_name(dialect: str, text: str) -> str:
    parts = _name_parts(text)
    limit = len(COLLECTION_PARTS[dialect])
    if len(parts) > limit:
        raise UsageError(f"--signal-table {text}: has {len(parts)} parts; {dialect} has at most {limit}")
    if dialect == "oracle" and len(parts) == limit:
        parts = parts[1:]  # the session selects the PDB: names in SQL do not have it
    return ".".join(_QUOTES[dialect](part) for part in parts)


def _quote_oracle(part: str) -> str:
    """Leave an ordinary name to Oracle, which reads it in upper case, and quote any other."""
    return part if _PLAIN.fullmatch(part) else f'"{part}"'


_QUOTES: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "sqlserver": lambda part: "[" + part.replace("]", "]]") + "]",
        "oracle": _quote_oracle,
        "postgres": lambda part: '"' + part.replace('"', '""') + '"',
        "mysql": lambda part: "`" + part.replace("`", "``") + "`",
    }
)


def _literal(dialect: str, text: str) -> str:
    if dialect == "mysql":  # the one whose literals have escapes, unless sql_mode says otherwise
        text = text.replace("\\", "\\\\")
    return "'" + text.replace("'", "''") + "'"


def _mongosh(signal: Signal, signal_table: str) -> str:
    database, dot, name = signal_table.partition(".")
    if not (database and dot and name):
        raise UsageError(f"--signal-table {signal_table}: not a name", "Write DATABASE.COLLECTION")
    # The connector wants three fields in this order (debezium: MongoDbConnectorConfig.java).
    document = json.dumps({"_id": signal.id, "type": signal.kind, "data": signal.data})
    target = f"db.getSiblingDB({json.dumps(database)}).getCollection({json.dumps(name)})"
    return f"{target}.insertOne({document});"
