"""One table of a topic that holds several: its name in the source, as the events spell it."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ingest.config.rules import WrongValueError
from ingest.names import Topic
from ingest.tables.framing import CONFLUENT

if TYPE_CHECKING:
    from ingest.tables.table import TableConfig

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sqlserver": ("db", "schema", "table"),
        "oracle": ("schema", "table"),
        "postgres": ("schema", "table"),
        "mysql": ("db", "table"),
    }
)
"""The fields of the source block that name a table behind the connector's own name, by dialect."""
SOURCE_FIELDS: Final = ("name", "db", "schema", "table")
"""The fields of a source block that may name its table, in the order of a name."""
_STEP: Final = r'(?:"(?:[^"]|"")+"|[^".]+)'
_NAME: Final = re.compile(rf"{_STEP}(?:\.{_STEP})*")
_QUOTED: Final = re.compile(_STEP)
_PLAIN: Final = re.compile(r'[^".]+')
_PLAIN_SERVER: Final = re.compile(r'[^".]+(?:\.[^".]+)*')


def source_fields(table: "TableConfig") -> dict[str, str]:
    """Return the values of a table's events in the fields of their source block, by field.

    `name` is the connector's `topic.prefix`, which may have dots.
    """
    steps, fields = _steps(table.source_table or ""), _FIELDS[table.dialect]
    own = dict(zip(fields, steps[-len(fields) :], strict=True))
    return {"name": ".".join(steps[: -len(fields)]), **own}


def full_name(source: Mapping[str, str | None], dialect: str) -> str:
    """Return the name of the table that a source block names, as `source_table` spells it.

    Quotes a step with dots.  Returns an empty text if the source block lacks a field of the name.
    """
    fields = _FIELDS.get(dialect) or tuple(field for field in SOURCE_FIELDS[1:] if source.get(field))
    server, *steps = (source.get(field) or "" for field in ("name", *fields))
    if not server or not all(steps):
        return ""
    return ".".join((_quoted(server, _PLAIN_SERVER), *(_quoted(step, _PLAIN) for step in steps)))


def _quoted(step: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(step):
        return step
    doubled = step.replace('"', '""')
    return f'"{doubled}"'


def own_name(table: "TableConfig") -> str:
    """Return the name of a table as `full_name` spells it, of a table that is a part of its topic."""
    return full_name(source_fields(table), table.dialect)


def topic_of(source_table: str) -> Topic:
    """Return the topic that the connector gives a table of its source."""
    return Topic(".".join(_steps(source_table)))


def _steps(name: str) -> tuple[str, ...]:
    """Split a name at its dots.  A step in double quotes may contain dots."""
    return tuple(
        step[1:-1].replace('""', '"') if step.startswith('"') else step for step in _QUOTED.findall(name)
    )


def check_source_table(table: "TableConfig") -> None:
    """Refuse a name that does not fit the connector, and tables with events that do not name their source."""
    name = table.source_table
    if name is None:
        return
    if table.topics:
        raise _wrong("is only for a table of one topic", 'Give one "topic", or remove it')
    if table.format != "avro" or table.framings != CONFLUENT:
        found = f"format is '{table.format}', framings are {', '.join(table.framings)}"
        raise _wrong(f"is only for Avro in the framing 'confluent'; {found}", "Give each table its own topic")
    if table.dialect not in _FIELDS:
        raise _wrong(f"is not for the dialect '{table.dialect}'; allowed: {', '.join(_FIELDS)}")
    layout = ".".join(("server", *_FIELDS[table.dialect]))
    if not _NAME.fullmatch(name) or len(_steps(name)) < len(_FIELDS[table.dialect]) + 1:
        raise _wrong(
            f"found '{name}'; allowed for {table.dialect}: {layout}",
            "Write the topic that the connector gives this table without a router; quote a step with dots",
        )
    if table.target.mode != "append" and not table.key.columns:
        problem = "is missing: the topic has the keys of several tables"
        raise WrongValueError("key.columns", problem, "Name the columns of this table's key")


def _wrong(problem: str, todo: str = "") -> WrongValueError:
    return WrongValueError("source_table", problem, todo)
