"""MySQL 5.7 and later, and MariaDB 10.4 and later."""

from ingest.sources.database import Database, Trap
from ingest.sql.template import sql

_BEYOND = "case when {c} >= '0001-01-01' then {text} end"  # zero dates arrive as null
_FRACTION = sql("trim(trailing '.' from trim(trailing '0' from date_format({c}, '%Y-%m-%d %H:%i:%s.%f')))")
_MILLIS = sql(
    "trim(trailing '.' from trim(trailing '0' from left(date_format({c}, '%Y-%m-%d %H:%i:%s.%f'), 23)))"
)
_INSTANT = ((r"timestamp.*", sql(_BEYOND, text=_FRACTION)),)
_MICROS = sql(
    "cast(if(left(cast({c} as char), 1) = '-', -1, 1) * "
    "((hour({c}) * 3600 + minute({c}) * 60 + second({c})) * 1000000 + microsecond({c})) as char)"
)
_UTF8 = sql("convert({c} using utf8mb4)")
_TRAPS = (
    Trap(
        sql("select '', '', 'log_bin = OFF' from dual where not @@global.log_bin"),
        "the server writes no binlog: no change reaches the connector",
        "Set log-bin in the server's settings, restart it, and let the connector take a new snapshot",
        is_problem=True,
    ),
    Trap(
        sql(
            "select '', '', concat('binlog_format = ', @@global.binlog_format) from dual "
            "where @@global.binlog_format <> 'ROW'"
        ),
        "the binlog has statements instead of rows: their changes are missing in the topics",
        "Run `set global binlog_format = 'ROW'`, set it in the server's settings, and take a new snapshot",
        is_problem=True,
    ),
    Trap(
        sql(
            "select '', '', concat('binlog_row_image = ', @@global.binlog_row_image) from dual "
            "where @@global.binlog_row_image <> 'FULL'"
        ),
        "updates lack the columns that they leave unchanged, and these become null",
        "Run `set global binlog_row_image = 'FULL'`, set it in the server's settings, and repair the tables "
        "with `ingest verify --repair`",
        is_problem=True,
    ),
)

MYSQL = Database(
    name="mysql",
    title="MySQL or MariaDB",
    drivers={"jdbc:mysql:": "com.mysql.cj.jdbc.Driver", "jdbc:mariadb:": "org.mariadb.jdbc.Driver"},
    quotes=("`", "`"),
    backslashes=True,
    joined=sql("concat({a}, {b})"),
    octets=sql("length({c})"),
    digest=sql("md5({c})"),
    exact=sql("cast({c} as binary)"),
    number=sql("cast(conv(left({h}, 14), 16, 10) as signed)"),
    bucket=sql("cast(conv(left({h}, 7), 16, 10) as signed) % {n}"),
    # One statement: Spark's reader sends the setup as one. No error for a zero date that is compared. Spark
    # 3.5 writes names in double quotes for `jdbc:mariadb:`, which are texts without ANSI_QUOTES.
    setup=(sql("set session time_zone = '+00:00', session sql_mode = 'ANSI_QUOTES'"),),
    traps=_TRAPS,
    # MariaDB runs the first comment only, MySQL the second one only.
    position=sql(
        "select /*M! (select group_concat(variable_value order by variable_name separator ':') "
        "from information_schema.global_status "
        "where variable_name in ('BINLOG_SNAPSHOT_FILE', 'BINLOG_SNAPSHOT_POSITION')) */ "
        "/*!50700 @@global.gtid_executed */"
    ),
    # A replica that accepts writes shows in MariaDB only: no status of MySQL is readable by every user.
    replica=sql(
        "select case when @@global.read_only /*M! or (select variable_value from "
        "information_schema.global_status where variable_name = 'SLAVES_RUNNING') > 0 */ "
        "then 'true' else 'false' end"
    ),
    columns=sql(
        "select column_name, column_type from information_schema.columns "
        "where table_schema = {schema} and table_name = {table} order by ordinal_position"
    ),
    forms={
        "boolean": (
            (
                r"tinyint\(1\)( unsigned)?",
                sql("case when {c} <> 0 then 'true' when {c} = 0 then 'false' end"),
            ),
            (r"bit\(1\)", sql("case when {c} = b'1' then 'true' when {c} = b'0' then 'false' end")),
        ),
        # The text of a zerofill column has leading zeros.
        "integer": (
            (r"(tiny|small|medium|big)?int.*zerofill", sql("cast({c} + 0 as char)")),
            (r"(tiny|small|medium|big)?int.*|year.*", sql("cast({c} as char)")),
        ),
        "decimal": (
            (r"decimal\(\d+,SCALE\)( unsigned)?", sql("cast({c} as char)")),
            (
                r"(decimal|(tiny|small|medium|big)?int).*",
                sql("cast(cast({c} as decimal(65,{scale})) as char)"),
            ),
        ),
        "number": (
            (r"decimal\(\d+,0\)( unsigned)?", sql("cast({c} as char)")),
            (
                r"decimal\(\d+,\d+\)( unsigned)?",
                sql("trim(trailing '.' from trim(trailing '0' from cast({c} as char)))"),
            ),
        ),
        "bits": ((r"bit\(([2-9]|[1-5]\d|6[0-4])\)", sql("cast(cast({c} + 0 as signed) as char)")),),
        "text": (
            (r"(var)?char.*|(tiny|medium|long)?text.*|enum.*", _UTF8),
            (r"uuid|inet[46]", sql("cast({c} as char)")),
        ),
        "json": (("longtext", _UTF8),),
        "uuid": ((r"uuid|char\(36\).*", sql("lower({c})")),),
        "binary": ((r"(var)?binary.*|(tiny|medium|long)?blob.*", sql("lower(hex({c}))")),),
        "date": (("date", sql(_BEYOND, text=sql("date_format({c}, '%Y-%m-%d')"))),),
        "timestamp": ((r"datetime.*", sql(_BEYOND, text=_FRACTION)),),
        "timestamp3": ((r"datetime.*", sql(_BEYOND, text=_MILLIS)),),
        "instant": _INSTANT,
        "instant_text": _INSTANT,
        "clock6": ((r"time(\(\d\))?", sql("time_format(cast({c} as time(6)), '%T.%f')")),),
        "clock3": ((r"time(\(\d\))?", sql("left(time_format(cast({c} as time(6)), '%T.%f'), 12)")),),
        "clock_micros": ((r"time(\(\d\))?", _MICROS),),
    },
)  # fmt: skip
