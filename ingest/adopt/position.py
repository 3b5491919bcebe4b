"""Positions of imported rows: below every change, or at a position of the source.

An imported row competes with later changes as any other row.  So it gets the position that an event with the
given source fields would have, made by the dialect's own SQL.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs
from pyspark.sql import SparkSession

from ingest.compile.position import position_sql, sort_key_sql
from ingest.compile.table import CompiledTable
from ingest.errors import UsageError
from ingest.sql.template import Sql, literal, sql
from ingest.sql.types import Simple, cast, null_of

_BELOW_ALL: Final = "-"
"""A rank that compares below each digit."""
_SPARK_TYPES: Final = {"string": Simple("string"), "long": Simple("bigint"), "int": Simple("int")}
_LARGEST: Final = str(2**63 - 1)

Fields = Mapping[str, str]
"""Values of fields of the source block, as text."""


@attrs.frozen
class SourcePosition:
    """A position of a source, as a person writes it, and the source fields of an event there.

    Changes up to it lose against a row with these fields, and later changes win.  `commit` is set if an event
    names the commit before its own. Then only the topic shows which events follow, see `ingest.adopt.topic`.
    """

    text: str
    fields: Fields
    commit: int | None = None


def lowest_position(spark: SparkSession, compiled: CompiledTable) -> str:
    """Return a position below the position of every event of a table, in the same form."""
    epoch, _, rest = _position(spark, compiled, {}).split(".", 2)
    return f"{epoch}.{_BELOW_ALL}.{rest}"


def position_at(spark: SparkSession, compiled: CompiledTable, position: SourcePosition) -> str:
    """Return the position of rows that were read at a position of the source."""
    return _position(spark, compiled, position.fields)


def _position(spark: SparkSession, compiled: CompiledTable, fields: Fields) -> str:
    types = compiled.dialect.source
    source = {
        name: cast(literal(fields[name]), _SPARK_TYPES[types[name]])
        if name in fields
        else null_of(_SPARK_TYPES[types[name]])
        for name in types
    }
    form = attrs.evolve(compiled.form, op=literal("r"), source=source)
    sort_key = sort_key_sql(compiled.dialect, form)
    event = spark.range(1).selectExpr("0L as offset").selectExpr(str(sort_key.alias("sort_key")))
    position = position_sql(compiled.terms, compiled.table.epoch, sql("sort_key"))
    return str(event.selectExpr(str(position.alias("at"))).collect()[0]["at"])


# --- positions as text ---------------------------------------------------------------------------


def parse_position(compiled: CompiledTable, text: str) -> SourcePosition:
    """Parse `--position`.  Raises `UsageError` for another form, or a source without positions."""
    dialect = compiled.dialect
    if dialect.name not in _FORMS or not compiled.terms:
        problem = f"--position {text}: the events of {dialect.title} have no position to compare it with"
        raise UsageError(problem, "Give --offsets: the messages from there on are applied to the rows")
    pattern, example, make = _FORMS[dialect.name]
    match = re.fullmatch(pattern, text.strip(), re.ASCII)
    if match is None:
        raise UsageError(
            f"--position {text}: not a position of {dialect.title}", f"Write it such as {example}"
        )
    return make(text.strip(), match)


def _sqlserver(text: str, _: re.Match[str]) -> SourcePosition:
    """Every change of the commit at the position is in the rows."""
    fields = {"commit_lsn": text.lower(), "change_lsn": "ffffffff:ffffffff:ffff", "event_serial_no": _LARGEST}
    return SourcePosition(text, fields)


def _mysql(text: str, match: re.Match[str]) -> SourcePosition:
    """Let an event win that starts at the position, which is the end of the previous event."""
    return SourcePosition(text, {"file": match[1], "pos": match[2], "row": "0"})


def _oracle(text: str, _: re.Match[str]) -> SourcePosition:
    """Every change of the commit at the SCN is in the rows."""
    highest = {"scn": "9" * 20, "txSeq": _LARGEST, "lcr_position": "f" * 80}
    return SourcePosition(text, {"version": "3", "commit_scn": text, **highest})


def _postgres(text: str, match: re.Match[str]) -> SourcePosition:
    lsn = int(match[3]) if match[3] else (int(match[1], 16) << 32) + int(match[2], 16)
    return SourcePosition(text, postgres_fields(lsn), commit=lsn)


def postgres_fields(lsn: int) -> Fields:
    """Return the fields of the first event of the transaction that follows a commit."""
    return {"sequence": f'["{lsn}","0"]', "lsn": "0"}


_FORMS: Final[Mapping[str, tuple[str, str, Callable[[str, re.Match[str]], SourcePosition]]]] = {
    "sqlserver": (
        r"[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}", "0000002a:00000150:0003", _sqlserver,
    ),
    "mysql": (r"([^:\s]*\.\d{1,18}):(\d{1,18})", "mysql-bin.000003:154", _mysql),
    "oracle": (r"\d{1,20}", "2868546, an SCN", _oracle),
    "postgres": (
        r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})|(\d{1,18})", "0/16B3748, an LSN", _postgres,
    ),
}  # fmt: skip


def first_term(sort_key: Sql) -> Sql:
    """Return the most significant term of a sort key."""
    return sort_key.field("p1")
