"""Debezium's MySQL and MariaDB connectors, 1.9 and later."""

from ingest.dialects.dialect import Dialect, Guard, number_term

# `mysql-bin.000003`: the number grows past its six digits, so that it is compared as a number
# (https://dev.mysql.com/doc/refman/8.4/en/binary-log.html).
_NUMBER = "substring_index({s.file}, '.', -1)"
_FILE = f"try_cast({_NUMBER} as bigint)"

_DATES = tuple(
    f"{package}.{name}"
    for package, names in {
        "io.debezium.time": ("Date", "Timestamp", "MicroTimestamp", "ZonedTimestamp"),
        "org.apache.kafka.connect.data": ("Date", "Timestamp"),
    }.items()
    for name in names
)

MYSQL = Dialect(
    name="mysql",
    title="MySQL and MariaDB",
    source_records=("io.debezium.connector.mysql.Source", "io.debezium.connector.mariadb.Source"),
    source={"file": "string", "pos": "long", "row": "int"},
    # Rows of one statement share their position in the file, and have a number there.
    terms=(
        number_term(
            "file", _FILE, f"{{s.file}} != '' and ({_FILE} is null or not ingest_is_number({_NUMBER}, 19))"
        ),
        number_term("pos", "{s.pos}", "{s.pos} is null or {s.pos} < 0"),
        number_term("row", "cast({s.row} as bigint)", "{s.row} < 0"),
    ),
    rank="'1'",
    topic_parts=(("server", "database", "table"),),
    flattened_fields=("file", "pos"),
    other_ops={"t": "truncate"},
    has_placeholders=True,
    has_durations=True,
    has_offsets=False,
    escapes_enums=True,
    caveats=(
        Guard("another binary log (failover, restore) begins a new order: raise epoch then"),
        Guard(
            "zero dates arrive as null, or as the default or 1970-01-01 where the column is NOT NULL", _DATES
        ),
        Guard(
            "years below 100 arrive as 1970 to 2069 unless enable.time.adjuster = false",
            (*_DATES, "io.debezium.time.Year"),
        ),
    ),
    documentation="https://debezium.io/documentation/reference/stable/connectors/mysql.html",
)
