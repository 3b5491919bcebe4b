"""From a topic to its table's name."""

import re
from collections.abc import Mapping
from string import Formatter
from typing import Final

from ingest.errors import UsageError
from ingest.names import Topic
from ingest.tables.rules import is_table_name

DEFAULT: Final = "{topic}"
_FIELDS: Final = ("server", "database", "schema", "table", "topic")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_]")


def table_name(topic: Topic, template: str = DEFAULT) -> str:
    """Fill a template such as `{schema}_{table}` with a topic's parts, illegal characters as `_`.

    Topics are `server.schema.table` (Debezium 1.9) or `server.database.schema.table` (2.0 and later).  In a
    longer name, all but the last three parts are the server.
    """
    parts = _parts(topic)
    name = _ILLEGAL.sub("_", "".join(text + _fill(topic, template, parts, f) for text, f in _split(template)))
    name = f"_{name}" if name[:1].isdigit() else name
    if not is_table_name(name):
        raise UsageError(
            f"topic {topic} with the name template '{template}' gives '{name}', which is not a table name",
            "Give another template with --name",
        )
    return name


def server_of(topic: Topic) -> str:
    """Return the connector's prefix by the parts of a topic's name, empty if there are too few parts."""
    return _parts(topic).get("server", "")


def clashes(names: Mapping[Topic, str]) -> dict[str, tuple[Topic, ...]]:
    """Find the table names that several topics share: `a.b` and `a_b` look alike once `.` is `_`."""
    topics: dict[str, list[Topic]] = {}
    for topic, name in names.items():
        topics.setdefault(name, []).append(topic)
    return {name: tuple(sorted(many)) for name, many in topics.items() if len(many) > 1}


def _parts(topic: Topic) -> dict[str, str]:
    steps = topic.split(".")
    parts = {"topic": str(topic)}
    match steps:
        case [server, schema, table]:
            parts |= {"server": server, "schema": schema, "table": table}
        case [*server, database, schema, table] if server:
            names = ("server", "database", "schema", "table")
            parts |= zip(names, (".".join(server), database, schema, table), strict=True)
    return parts


def _split(template: str) -> list[tuple[str, str | None]]:
    """Cut a template into texts and the fields behind them.  Only plain `{field}` is allowed."""
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        raise _wrong(template, str(error)) from error
    for _, field, spec, conversion in pieces:
        if spec or conversion:
            raise _wrong(template, f"'{{{field}}}' must not have a format or conversion")
        if field is not None and field not in _FIELDS:
            raise _wrong(template, f"'{{{field}}}' is not a field")
    return [(text, field) for text, field, _, _ in pieces]


def _fill(topic: Topic, template: str, parts: Mapping[str, str], field: str | None) -> str:
    if field is None:
        return ""
    if field not in parts:
        raise _wrong(template, f"topic {topic} has no {field}")
    return parts[field]


def _wrong(template: str, problem: str) -> UsageError:
    fields = ", ".join(f"{{{field}}}" for field in _FIELDS)
    return UsageError(f"name template '{template}': {problem}", f"Fields: {fields}")
