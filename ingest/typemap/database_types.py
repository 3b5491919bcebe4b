"""The types of each database, and the semantic and physical types that its connector sends for them.

Rows only: `typemap.rows` has the Spark types.  The connectors have their defaults, `adaptive` times and
`precise` decimals.  Sources: the data type mappings of Debezium's connector pages, and events that Debezium's
own converters made of SQL Server's, Oracle's and PostgreSQL's types.
"""

from collections.abc import Mapping
from typing import Final

import attrs

_TIME: Final = "io.debezium.time."
_DATA: Final = "io.debezium.data."
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"


@attrs.frozen
class DatabaseType:
    """Types of a database that are sent alike.  The connector does not send types without a physical type."""

    names: str
    semantic: str
    physical: str
    note: str = ""


def _plain(names: str, physical: str, note: str = "") -> DatabaseType:
    return DatabaseType(names, "", physical, note)


def _time(names: str, semantic: str, physical: str, note: str = "") -> DatabaseType:
    return DatabaseType(names, _TIME + semantic, physical, note)


def _data(names: str, semantic: str, physical: str, note: str = "") -> DatabaseType:
    return DatabaseType(names, _DATA + semantic, physical, note)


def _decimal(names: str, note: str = "") -> DatabaseType:
    return DatabaseType(names, _DECIMAL, "bytes", note)


_SQLSERVER: Final = (
    _plain("bit", "boolean"),
    _plain("tinyint, smallint, int", "int"),
    _plain("bigint", "long"),
    _decimal("decimal(p,s), numeric(p,s)"),
    _decimal("money", "p = 19, s = 4"),
    _decimal("smallmoney", "p = 10, s = 4"),
    _plain("real", "float"),
    _plain("float", "double"),
    _plain("char, varchar, text, nchar, nvarchar, ntext", "string"),
    _plain("uniqueidentifier", "string", "upper case"),
    _data("xml", "Xml", "string"),
    _time("date", "Date", "int"),
    _time("time(0) to time(3)", "Time", "int"),
    _time("time(4) to time(6)", "MicroTime", "long"),
    _time("time(7)", "NanoTime", "long"),
    _time("datetime, smalldatetime, datetime2(0) to datetime2(3)", "Timestamp", "long"),
    _time("datetime2(4) to datetime2(6)", "MicroTimestamp", "long"),
    _time("datetime2(7)", "NanoTimestamp", "long"),
    _time("datetimeoffset", "ZonedTimestamp", "string"),
    _plain("binary, varbinary, image, rowversion", "bytes"),
    _plain("sql_variant, geography, hierarchyid", ""),
)
_ORACLE: Final = (
    _plain("NUMBER(p,s), s ≤ 0, p - s < 10", "int"),
    _plain("NUMBER(p,s), s ≤ 0, p - s < 19", "long"),
    _decimal("NUMBER(p,s), other", "above 38 digits `string`"),
    _decimal("INTEGER, INT, SMALLINT", "they are NUMBER(38)"),
    _data("NUMBER, FLOAT, REAL, DOUBLE PRECISION", "VariableScaleDecimal", "record"),
    _plain("BINARY_FLOAT", "float"),
    _plain("BINARY_DOUBLE", "double"),
    _plain("CHAR, VARCHAR2, NCHAR, NVARCHAR2", "string"),
    _plain("CLOB, NCLOB", "string", "sent with `lob.enabled = true`"),
    _data("XMLTYPE", "Xml", "string", "sent with `lob.enabled = true`"),
    _time("DATE, TIMESTAMP(0) to TIMESTAMP(3)", "Timestamp", "long"),
    _time("TIMESTAMP(4) to TIMESTAMP(6)", "MicroTimestamp", "long"),
    _time("TIMESTAMP(7) to TIMESTAMP(9)", "NanoTimestamp", "long"),
    _time("TIMESTAMP WITH TIME ZONE, … WITH LOCAL TIME ZONE", "ZonedTimestamp", "string"),
    _time("INTERVAL", "MicroDuration", "long"),
    _time("INTERVAL, interval.handling.mode = string", "Interval", "string"),
    _plain("RAW", "bytes"),
    _plain("BLOB", "bytes", "sent with `lob.enabled = true`"),
)
_POSTGRES: Final = (
    _plain("boolean, bit(1)", "boolean"),
    _plain("smallint, integer", "int"),
    _plain("bigint, oid", "long"),
    _decimal("numeric(p,s)", "above 38 digits `string`"),
    _data("numeric", "VariableScaleDecimal", "record"),
    _decimal("money"),
    _plain("real", "float"),
    _plain("double precision", "double"),
    _plain("char, varchar, text, citext, inet, cidr, macaddr, ranges", "string"),
    _data("json, jsonb, hstore", "Json", "string"),
    _data("xml", "Xml", "string"),
    _data("uuid", "Uuid", "string"),
    _data("enum types", "Enum", "string"),
    _data("ltree", "Ltree", "string"),
    _data("tsvector", "Tsvector", "string"),
    _time("date", "Date", "int"),
    _time("time(0) to time(3)", "Time", "int"),
    _time("time, time(4) to time(6)", "MicroTime", "long"),
    _time("timetz", "ZonedTime", "string", "in UTC"),
    _time("timestamp(0) to timestamp(3)", "Timestamp", "long"),
    _time("timestamp, timestamp(4) to timestamp(6)", "MicroTimestamp", "long"),
    _time("timestamptz", "ZonedTimestamp", "string"),
    _time("interval", "MicroDuration", "long"),
    _time("interval, interval.handling.mode = string", "Interval", "string"),
    _data("bit(n), varbit", "Bits", "bytes"),
    _plain("bytea", "bytes"),
    _data("point", "geometry.Point", "record"),
    _data("geometry (PostGIS)", "geometry.Geometry", "record"),
    _data("geography (PostGIS)", "geometry.Geography", "record"),
    _data("vector (pgvector)", "DoubleVector", "array"),
    _data("halfvec (pgvector)", "FloatVector", "array"),
    _data("sparsevec (pgvector)", "SparseDoubleVector", "record"),
)
_MYSQL: Final = (
    _plain("BOOLEAN, BIT(1)", "boolean"),
    _plain("TINYINT, SMALLINT, MEDIUMINT, INT", "int"),
    _plain("INT UNSIGNED, BIGINT", "long"),
    _plain("BIGINT UNSIGNED", "long", "values above 2^63 - 1 arrive negative"),
    _decimal("BIGINT UNSIGNED, bigint.unsigned.handling.mode = precise", "p = 20, s = 0"),
    _decimal("DECIMAL(p,s), NUMERIC(p,s)", "above 38 digits `string`"),
    _plain("FLOAT, FLOAT(1) to FLOAT(24)", "float", "MariaDB: a snapshot has six digits"),
    _plain("FLOAT(p,s), FLOAT(25) to FLOAT(53), REAL, DOUBLE", "double"),
    _plain("CHAR, VARCHAR, TINYTEXT, TEXT, MEDIUMTEXT, LONGTEXT", "string"),
    _data("JSON", "Json", "string", "MariaDB's is LONGTEXT"),
    _data("UUID", "Uuid", "string", "MariaDB"),
    _data("ENUM", "Enum", "string"),
    _data("SET", "EnumSet", "string"),
    _time("YEAR", "Year", "int"),
    _time("DATE", "Date", "int"),
    _time("TIME", "MicroTime", "long"),
    _time("DATETIME(0) to DATETIME(3)", "Timestamp", "long"),
    _time("DATETIME(4) to DATETIME(6)", "MicroTimestamp", "long"),
    _time("TIMESTAMP", "ZonedTimestamp", "string"),
    _data("BIT(n)", "Bits", "bytes"),
    _plain("BINARY, VARBINARY, TINYBLOB, BLOB, MEDIUMBLOB, LONGBLOB", "bytes"),
    _data("POINT", "geometry.Point", "record"),
    _data("GEOMETRY and its subtypes", "geometry.Geometry", "record"),
    _data("VECTOR", "FloatVector", "array"),
)
_MONGODB: Final = (
    _plain("_id", "string", "the column `id`, as JSON text"),
    _data(
        "document",
        "Json",
        "string",
        "the column `doc`, as Extended JSON; `[document.columns]` extracts columns",
    ),
)

DATABASE_TYPES: Final[Mapping[str, tuple[DatabaseType, ...]]] = {
    "sqlserver": _SQLSERVER,
    "oracle": _ORACLE,
    "mongodb": _MONGODB,
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
}
"""By connector.  CDL sends its source's types, under CDL's names."""
