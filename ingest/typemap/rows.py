"""The type table: every semantic type and its Spark type.  Rows only, no logic.

A row is found by (semantic, physical, policy).  `spark` is the type in the table.  `logical` is the Avro
logical type under which Spark's own decoder already gives a better value than the bare physical one.  `sql`
converts that value, `{c}`, to the `spark` type.  `fault` is true for a value that the type cannot hold,
`{out}` being the result of `sql`: such a record is rejected, never stored as if true.  `beyond` is true for
infinity and for years outside 1 to 9999: a fault too, or null by policy.  A row of a record or an array
without a `spark` type keeps the structure.

Sources: DBZ = debezium `io.debezium.time.*` / `io.debezium.data.*` javadoc and the data type mappings of the
connector pages, KC = kafka connect `org.apache.kafka.connect.data.*`, AVRO = Avro 1.11 specification.
"""

from types import MappingProxyType

import attrs

from ingest.sql.template import Sql, join, literal, sql, word
from ingest.typemap.decimals import MAX_SCALE, MIN_SCALE

VALUE = sql("{c}")
"""The decoded value itself."""


def _template(template: Sql | str) -> Sql:
    return template if isinstance(template, Sql) else sql(template)


@attrs.frozen
class TypeRow:
    """One semantic type, carried as one physical type, under one policy."""

    semantic: str
    physical: str
    spark: str
    sql: Sql = attrs.field(default=VALUE, converter=_template)
    logical: str = ""
    fault: Sql | None = attrs.field(default=None, converter=attrs.converters.optional(_template))
    unit: str = ""
    loses: str = ""
    policy: str = ""
    beyond: Sql | None = attrs.field(default=None, converter=attrs.converters.optional(_template))
    source: str = ""
    stored: str = ""
    """The unit or spelling of the stored values, if the Spark type does not say it.

    Rows that differ in it never share a column.
    """


# A SQL Server `datetime2(7)` counts 100 ns, and Debezium up to 3.5 silently wraps values that NanoTimestamp's
# 64 bits cannot hold (debezium/dbz#2075): the last two digits give the multiple of 2^64.  `Ticks.java` in
# jvm/ computes the microseconds.
_WRAP = 1 << 64
_WRAPS_BY_REMAINDER = {-16 * k % 100: k for k in range(-10, 15)}  # remainders are the multiples of 4
_WRAPS = join(", ", (sql("{n}BD", n=_WRAPS_BY_REMAINDER[last] * _WRAP) for last in range(0, 100, 4)))
_UNWRAPPED_NS = sql(
    "(cast({c} as decimal(38,0)) + element_at(array({wraps}), int(pmod({c}, 100) div 4) + 1))", wraps=_WRAPS
)
_NANOS_TO_MICROS = sql("{c} div 1000 - if({c} % 1000 < 0, 1, 0)")  # rounds towards the past
_MICROS_NTZ = sql("cast(timestamp_micros({c}) as timestamp_ntz)")  # the run's session zone is UTC
_NANOS_NTZ = _MICROS_NTZ.of(c=_NANOS_TO_MICROS)
_NANOS_TEXT = sql(
    "concat(date_format({timestamp}, {format}), lpad(cast(int(pmod({c}, 1000)) as string), 3, '0'))",
    timestamp=_NANOS_NTZ,
    format=literal("yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
)


def _outside_day(units_per_second: str) -> Sql:
    return sql("{c} < 0 or {c} > 86400 * {units}", units=word(units_per_second))


_BEYOND_DATE = "{c} not between date'0001-01-01' and date'9999-12-31'"
_BEYOND_NTZ = (
    "{c} not between timestamp_ntz'0001-01-01 00:00:00' and timestamp_ntz'9999-12-31 23:59:59.999999'"
)

# Java's ISO format writes a sign if the year is negative or has more than four digits.  Other text is a
# fault.  The first test is cheap and decides whether the others run: by `if`, since Spark evaluates an
# expression that occurs twice after an `and` ahead of it (SPARK-42815).
_IF_BEYOND = sql("if({c} < '1' or {c} >= '9', {test}, false)")  # a sign, a year from 9000 on, a word
_IS_BEYOND = sql(
    "{c} in ('infinity', '-infinity') or {c} rlike {pattern}",
    pattern=literal("^([+][1-9][0-9][0-9][0-9][0-9]+|-[0-9][0-9][0-9][0-9]+|0000)-[0-9][0-9]-[0-9][0-9]"),
)
_BEYOND_TEXT = _IF_BEYOND.of(test=_IS_BEYOND)
_YEARS = sql("timestamp'0001-01-01 00:00:00Z' and timestamp'9999-12-31 23:59:59.999999Z'")
_INSTANT_BEYOND = sql("coalesce(ingest_instant({c}) not between {years}, false)", years=_YEARS)
# An offset may carry the first and the last hours into other years.
_BEYOND_ZONED = _IF_BEYOND.of(test=sql("{text} or {instant}", text=_IS_BEYOND, instant=_INSTANT_BEYOND))
# Spark takes -2024 for a year (SparkDateTimeUtils.parseTimestampString, 3.5.7).
_SIGNED = sql("left({c}, 1) in ('-', '+')")
_UNPARSED = sql("{c} is not null and {out} is null")
_UNPARSED_OR_SIGNED = sql("{unparsed} or {signed}", unparsed=_UNPARSED, signed=_SIGNED)
_NO_ZONE = sql("replace({c}, 'Z', '')")  # isostring's Z means "no zone"

# CDL's timestamps are text, or milliseconds as text.
_IS_COUNT = sql("{c} rlike '^-?[0-9]+$'")
_COUNT = sql("try_cast({c} as bigint)")
_YEARS_MS = sql("-62135596800000 and 253402300799999")
_CDL_TIMESTAMP = sql(
    "if({is_count}, cast(timestamp_millis(if({count} between {years}, {count}, null)) as timestamp_ntz), "
    "try_cast({c} as timestamp_ntz))",
    is_count=_IS_COUNT, count=_COUNT, years=_YEARS_MS,
)  # fmt: skip
_CDL_FAULT = sql(
    "{unparsed} or {has_offset} or ({signed} and not {is_count})",
    unparsed=_UNPARSED,
    has_offset=sql("{c} rlike ':[0-9.]+ ?[+-][0-9:]+$'"),  # Spark would drop it
    signed=_SIGNED,
    is_count=_IS_COUNT,
)
_CDL_BEYOND = sql(
    "({text} or ({is_count} and {count} not between {years}))",
    text=_BEYOND_TEXT, is_count=_IS_COUNT, count=_COUNT, years=_YEARS_MS,
)  # fmt: skip

_CLOCK, _MICROS, _STAMP, _NUMBER = "time of day", "µs since midnight", "timestamp", "number"

_MAX_BYTES = 61_230  # of the longest number, 147,455 digits
_VARIABLE_SCALE = sql(
    "if({c}.scale between {min} and {max} and octet_length({c}.value) <= {bytes}, "
    "ingest_plain_decimal({c}.scale, {c}.value), null)",
    min=MIN_SCALE, max=MAX_SCALE, bytes=_MAX_BYTES,
)  # fmt: skip

_DBZ_TIME = "DBZ io.debezium.time"
_BELOW_MICRO = "digits below 1 µs"

_ROWS = (
    # --- plain physical types ------------------------------------------------------------------
    TypeRow("", "boolean", "boolean", source="AVRO"),
    TypeRow("", "int", "int", source="AVRO; int8 and int16 too: Hudi stores them as int"),
    TypeRow("", "long", "bigint", source="AVRO"),
    TypeRow("", "float", "float", source="AVRO"),
    TypeRow("", "double", "double", source="AVRO"),
    TypeRow("", "string", "string", source="AVRO"),
    TypeRow("", "bytes", "binary", source="AVRO"),
    TypeRow("", "fixed", "binary", source="AVRO"),
    TypeRow("", "enum", "string", source="AVRO"),
    # --- dates ---------------------------------------------------------------------------------
    TypeRow("io.debezium.time.Date", "int", "date", logical="date", beyond=_BEYOND_DATE,
            unit="days since 1970-01-01", source=f"{_DBZ_TIME}.Date"),
    TypeRow("org.apache.kafka.connect.data.Date", "int", "date", logical="date", beyond=_BEYOND_DATE,
            unit="days since 1970-01-01", source="KC Date"),
    TypeRow("date", "int", "date", logical="date", beyond=_BEYOND_DATE,
            unit="days since 1970-01-01", source="AVRO date"),
    TypeRow("io.debezium.time.IsoDate", "string", "date", sql=sql("try_cast({text} as date)", text=_NO_ZONE),
            fault=_UNPARSED_OR_SIGNED, beyond=_BEYOND_TEXT, unit="ISO-8601 date, Z means no zone",
            source=f"{_DBZ_TIME}.IsoDate"),
    # --- times of day --------------------------------------------------------------------------
    TypeRow("io.debezium.time.Time", "int", "string", sql="ingest_clock({c}, 3)", policy="string",
            fault=_outside_day("1000"), unit="ms since midnight", stored=_CLOCK, source=f"{_DBZ_TIME}.Time"),
    TypeRow("io.debezium.time.Time", "int", "bigint", sql="{c} * 1000L", policy="micros",
            fault=_outside_day("1000"), unit="ms since midnight, stored as µs",
            stored=_MICROS, source=f"{_DBZ_TIME}.Time"),
    TypeRow("org.apache.kafka.connect.data.Time", "int", "string", sql="ingest_clock({c}, 3)",
            fault=_outside_day("1000"), unit="ms since midnight", policy="string",
            stored=_CLOCK, source="KC Time"),
    TypeRow("org.apache.kafka.connect.data.Time", "int", "bigint", sql="{c} * 1000L",
            fault=_outside_day("1000"), unit="ms since midnight, stored as µs", policy="micros",
            stored=_MICROS, source="KC Time"),
    TypeRow("time-millis", "int", "string", sql="ingest_clock({c}, 3)", policy="string",
            fault=_outside_day("1000"), unit="ms since midnight", stored=_CLOCK, source="AVRO time-millis"),
    TypeRow("time-millis", "int", "bigint", sql="{c} * 1000L", policy="micros",
            fault=_outside_day("1000"), unit="ms since midnight, stored as µs",
            stored=_MICROS, source="AVRO time-millis"),
    TypeRow("io.debezium.time.MicroTime", "long", "string", sql="ingest_clock({c}, 6)",
            fault=_outside_day("1000000L"), unit="µs since midnight", policy="string",
            stored=_CLOCK, source=f"{_DBZ_TIME}.MicroTime"),
    TypeRow("io.debezium.time.MicroTime", "long", "bigint", policy="micros",
            fault=_outside_day("1000000L"), unit="µs since midnight",
            stored=_MICROS, source=f"{_DBZ_TIME}.MicroTime"),
    TypeRow("io.debezium.time.NanoTime", "long", "string", sql="ingest_clock({c}, 9)",
            fault=_outside_day("1000000000L"), unit="ns since midnight", policy="string",
            stored=_CLOCK, source=f"{_DBZ_TIME}.NanoTime"),
    TypeRow("io.debezium.time.NanoTime", "long", "bigint", sql="{c} div 1000", policy="micros",
            fault=_outside_day("1000000000L"), unit="ns since midnight, stored as µs",
            loses=_BELOW_MICRO, stored=_MICROS, source=f"{_DBZ_TIME}.NanoTime"),
    TypeRow("io.debezium.time.IsoTime", "string", "string", sql=_NO_ZONE,
            unit="ISO-8601 time, Z means no zone", stored=_CLOCK, source=f"{_DBZ_TIME}.IsoTime"),
    TypeRow("io.debezium.time.ZonedTime", "string", "string",
            unit="ISO-8601 time with offset", stored="time of day with offset",
            source=f"{_DBZ_TIME}.ZonedTime"),
    # --- timestamps without a zone: wall clock --------------------------------------------------
    TypeRow("io.debezium.time.Timestamp", "long", "timestamp_ntz", logical="local-timestamp-millis",
            beyond=_BEYOND_NTZ, unit="ms since 1970-01-01, no zone",
            source=f"{_DBZ_TIME}.Timestamp"),
    TypeRow("org.apache.kafka.connect.data.Timestamp", "long", "timestamp_ntz", beyond=_BEYOND_NTZ,
            logical="local-timestamp-millis", unit="ms since 1970-01-01, no zone",
            source="KC Timestamp"),
    TypeRow("timestamp-millis", "long", "timestamp_ntz", beyond=_BEYOND_NTZ,
            logical="local-timestamp-millis", unit="ms since 1970-01-01, no zone",
            source="AVRO timestamp-millis, as Connect's Timestamp is annotated"),
    TypeRow("io.debezium.time.MicroTimestamp", "long", "timestamp_ntz", beyond=_BEYOND_NTZ,
            logical="local-timestamp-micros", unit="µs since 1970-01-01, no zone",
            source=f"{_DBZ_TIME}.MicroTimestamp"),
    TypeRow("io.debezium.time.NanoTimestamp", "long", "timestamp_ntz", policy="timestamp",
            sql=_NANOS_NTZ, loses=_BELOW_MICRO,
            unit="ns since 1970-01-01, no zone", source=f"{_DBZ_TIME}.NanoTimestamp"),
    TypeRow("io.debezium.time.NanoTimestamp", "long", "bigint", policy="bigint",
            unit="ns since 1970-01-01, no zone", stored="ns since 1970-01-01",
            source=f"{_DBZ_TIME}.NanoTimestamp"),
    TypeRow("io.debezium.time.NanoTimestamp", "long", "string", policy="string",
            sql=_NANOS_TEXT, unit="ns since 1970-01-01, as yyyy-MM-ddTHH:mm:ss.fffffffff",
            stored=_STAMP, source=f"{_DBZ_TIME}.NanoTimestamp"),
    TypeRow("io.debezium.time.IsoTimestamp", "string", "timestamp_ntz", policy="timestamp",
            sql=sql("try_cast({text} as timestamp_ntz)", text=_NO_ZONE), loses=_BELOW_MICRO,
            fault=_UNPARSED_OR_SIGNED, beyond=_BEYOND_TEXT,
            unit="ISO-8601 timestamp, Z means no zone", source=f"{_DBZ_TIME}.IsoTimestamp"),
    TypeRow("io.debezium.time.IsoTimestamp", "string", "string", policy="string", sql=_NO_ZONE,
            unit="ISO-8601 timestamp, Z means no zone", stored=_STAMP, source=f"{_DBZ_TIME}.IsoTimestamp"),
    # --- timestamps with a zone: an instant -----------------------------------------------------
    TypeRow("io.debezium.time.ZonedTimestamp", "string", "timestamp",
            fault=_UNPARSED,
            sql="ingest_instant({c})", unit="ISO-8601 timestamp with offset", beyond=_BEYOND_ZONED,
            loses=f"the offset, and {_BELOW_MICRO}", source=f"{_DBZ_TIME}.ZonedTimestamp"),
    TypeRow("cdc.data.timestamp", "string", "timestamp_ntz", sql=_CDL_TIMESTAMP,
            fault=_CDL_FAULT, beyond=_CDL_BEYOND,
            loses=_BELOW_MICRO, unit="timestamp, or ms since 1970-01-01, no zone",
            source="CDL com.*.cdc.data.timestamp"),
    # --- numbers -------------------------------------------------------------------------------
    TypeRow("org.apache.kafka.connect.data.Decimal", "bytes", "decimal({precision},{scale})",
            logical="decimal", source="KC Decimal"),
    TypeRow("decimal", "bytes", "decimal({precision},{scale})", logical="decimal",
            source="AVRO decimal"),
    TypeRow("io.debezium.data.VariableScaleDecimal", "record", "string",
            sql=_VARIABLE_SCALE, fault=_UNPARSED, unit="a number, in plain notation",
            stored=_NUMBER, source="DBZ io.debezium.data.VariableScaleDecimal"),
    TypeRow("cdc.data.Decimal", "string", "string", unit="a number",
            stored=_NUMBER, source="CDL com.*.cdc.data.Decimal"),
    TypeRow("io.debezium.time.Year", "int", "int", unit="year", source=f"{_DBZ_TIME}.Year"),
    # --- durations -----------------------------------------------------------------------------
    TypeRow("io.debezium.time.Interval", "string", "string", unit="ISO-8601 duration",
            stored="duration", source=f"{_DBZ_TIME}.Interval"),
    TypeRow("io.debezium.time.MicroDuration", "long", "bigint",
            unit="µs; a month counts as 30.4375 days", stored="µs of a duration",
            source=f"{_DBZ_TIME}.MicroDuration"),
    TypeRow("io.debezium.time.NanoDuration", "long", "bigint",
            unit="ns; a month counts as 30.4375 days", stored="ns of a duration",
            source=f"{_DBZ_TIME}.NanoDuration"),
    # --- structures that keep their shape --------------------------------------------------------
    *(TypeRow(f"io.debezium.data.geometry.{name}", "record", "", unit="well-known binary, and its SRID",
              source=f"DBZ io.debezium.data.geometry.{name}")
      for name in ("Point", "Geometry", "Geography", "Circle", "Line")),
    *(TypeRow(f"io.debezium.data.{name}", "array", "", source=f"DBZ io.debezium.data.{name}")
      for name in ("FloatVector", "DoubleVector")),
    TypeRow("io.debezium.data.SparseDoubleVector", "record", "",
            source="DBZ io.debezium.data.SparseDoubleVector"),
    *(TypeRow(f"io.debezium.time.Structured{name}", "record", "", unit="parts",
              source=f"{_DBZ_TIME}.Structured{name}")
      for name in ("Date", "Time", "Timestamp", "ZonedTime", "ZonedTimestamp", "Duration")),
    # --- text and bytes with a meaning ----------------------------------------------------------
    TypeRow("io.debezium.data.Xml", "string", "string", source="DBZ io.debezium.data.Xml"),
    TypeRow("io.debezium.data.Json", "string", "string", source="DBZ io.debezium.data.Json"),
    TypeRow("io.debezium.data.Uuid", "string", "string", source="DBZ io.debezium.data.Uuid"),
    TypeRow("uuid", "string", "string", source="AVRO uuid"),
    TypeRow("io.debezium.data.Enum", "string", "string", source="DBZ io.debezium.data.Enum"),
    TypeRow("io.debezium.data.EnumSet", "string", "string", unit="values, by commas",
            source="DBZ io.debezium.data.EnumSet"),
    TypeRow("io.debezium.data.Ltree", "string", "string", source="DBZ io.debezium.data.Ltree"),
    TypeRow("io.debezium.data.Tsvector", "string", "string", source="DBZ io.debezium.data.Tsvector"),
    TypeRow("io.debezium.data.Bits", "bytes", "binary", unit="little-endian bit set",
            stored="bits", source="DBZ io.debezium.data.Bits"),
)  # fmt: skip

# Rows of a source with 100 ns ticks (SQL Server): wrapped values are unwrapped.
_NO_TICKS = sql(
    "pmod({c}, 4) != 0 or (pmod({c}, 100) != 0 and "
    "{unwrapped} not between -62135596800000000000BD and 253402300799999999900BD)",  # the years 1 to 9999
    unwrapped=_UNWRAPPED_NS,
)
_ROWS_100NS = (
    TypeRow("io.debezium.time.NanoTimestamp", "long", "timestamp_ntz", policy="timestamp",
            sql="ingest_ticks({c})", fault=_UNPARSED, unit="ns since 1970-01-01, no zone", loses=_BELOW_MICRO,
            source=f"{_DBZ_TIME}.NanoTimestamp; SQL Server datetime2(7) counts 100 ns"),
    TypeRow("io.debezium.time.NanoTimestamp", "long", "bigint", policy="bigint",
            fault="pmod({c}, 100) != 0", unit="ns since 1970-01-01, no zone",
            stored="ns since 1970-01-01", source=f"{_DBZ_TIME}.NanoTimestamp; wrapped values have no bigint"),
    TypeRow("io.debezium.time.NanoTimestamp", "long", "string", policy="string",
            sql=_NANOS_TEXT.of(c=_UNWRAPPED_NS),
            fault=_NO_TICKS, unit="ns since 1970-01-01, as yyyy-MM-ddTHH:mm:ss.fffffffff",
            stored=_STAMP, source=f"{_DBZ_TIME}.NanoTimestamp; SQL Server datetime2(7) counts 100 ns"),
)  # fmt: skip

# Rows of a source with times of day that are durations (MySQL: -838:59:59 to 838:59:59).
_LONGEST_S = 838 * 3600 + 59 * 60 + 60


def _beyond_longest(units_per_second: int) -> Sql:
    longest = _LONGEST_S * units_per_second  # written out: a product of ints would overflow
    return sql("{c} not between -{longest}L and {longest}L", longest=longest)


_ROWS_OF_DURATIONS = (
    TypeRow("io.debezium.time.Time", "int", "string", sql="ingest_clock({c}, 3)", policy="string",
            fault=_beyond_longest(1000), unit="ms, which may be negative",
            stored=_CLOCK, source=f"{_DBZ_TIME}.Time; MySQL TIME"),
    TypeRow("io.debezium.time.Time", "int", "bigint", sql="{c} * 1000L", policy="micros",
            fault=_beyond_longest(1000), unit="ms, which may be negative, stored as µs",
            stored=_MICROS, source=f"{_DBZ_TIME}.Time; MySQL TIME"),
    TypeRow("io.debezium.time.MicroTime", "long", "string", sql="ingest_clock({c}, 6)", policy="string",
            fault=_beyond_longest(1_000_000), unit="µs, which may be negative",
            stored=_CLOCK, source=f"{_DBZ_TIME}.MicroTime; MySQL TIME"),
    TypeRow("io.debezium.time.MicroTime", "long", "bigint", policy="micros",
            fault=_beyond_longest(1_000_000), unit="µs, which may be negative",
            stored=_MICROS, source=f"{_DBZ_TIME}.MicroTime; MySQL TIME"),
)  # fmt: skip

# Rows of a source whose connector sends instants in UTC, with at most six digits (PostgreSQL, MySQL).
_ROWS_IN_UTC = tuple(
    attrs.evolve(row, loses="", unit="ISO-8601 timestamp in UTC")
    for row in _ROWS
    if row.semantic == "io.debezium.time.ZonedTimestamp"
)

# Rows of a source whose connector writes an option of an enum as the list of options has it (MySQL).
_ROWS_OF_OPTIONS = tuple(
    attrs.evolve(row, sql=sql("replace({c}, {escaped}, ',')", escaped=literal("\\,")))
    for row in _ROWS
    if row.semantic == "io.debezium.data.Enum" and row.physical == "string"
)

TYPES = MappingProxyType({(row.semantic, row.physical, row.policy): row for row in _ROWS})
"""Every row by (semantic, physical, policy)."""

TYPES_BY_TICK = MappingProxyType(
    {100: MappingProxyType({(r.semantic, r.physical, r.policy): r for r in _ROWS_100NS})}
)
"""Rows that replace those in `TYPES` for a source with that tick, in nanoseconds."""

TYPES_OF_DURATIONS = MappingProxyType({(r.semantic, r.physical, r.policy): r for r in _ROWS_OF_DURATIONS})
"""Rows that replace `TYPES`' rows for a source with times of day that are durations."""

TYPES_OF_OPTIONS = MappingProxyType({(r.semantic, r.physical, r.policy): r for r in _ROWS_OF_OPTIONS})
"""Rows that replace `TYPES`' rows for a source that escapes the commas of enums."""

TYPES_IN_UTC = MappingProxyType({(r.semantic, r.physical, r.policy): r for r in _ROWS_IN_UTC})
"""Rows that replace `TYPES`' rows for a source without offsets."""

POLICIES = MappingProxyType(
    {
        "io.debezium.time.Time": "time",
        "io.debezium.time.MicroTime": "time",
        "io.debezium.time.NanoTime": "time",
        "org.apache.kafka.connect.data.Time": "time",
        "time-millis": "time",
        "io.debezium.time.NanoTimestamp": "nanos",
        "io.debezium.time.IsoTimestamp": "nanos",
    }
)
"""The policy of `[types]` that chooses among the rows of a semantic type."""
