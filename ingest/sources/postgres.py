"""PostgreSQL, 10 and later."""

from ingest.sources.database import Database, HashChecksum
from ingest.sources.postgres_traps import POSTGRES_TRAPS
from ingest.sql.template import sql

_BITS64 = sql("('x' || encode(float8send({c} + 0), 'hex'))::bit(64)::bigint::text")  # -0.0 becomes 0.0
# The type's own output: a cast to text trims char(n), and writes the mask of an inet without one.
_OUTPUT = sql("case when {c} is not null then concat({c}) end")
_IN_YEARS = "case when {c} between '0001-01-01' and '9999-12-31 23:59:59.999999' then {text} end"

# hashint8extended folds larger numbers into 32 bits: the hash of their higher half tells these apart.
_BIG = sql(
    "case when {c} between -2147483648 and 2147483647 then hashint8extended({c}, {seed}) "
    "else hashint8extended({c}, {seed}) # hashint4extended(({c} >> 32)::int, ~{seed}) end"
)
_HASHING = HashChecksum(
    conditions=(
        # The functions exist since version 11, and hash texts in the database's encoding.
        sql(
            "select (current_setting('server_encoding') = 'UTF8' "
            "and exists (select 1 from pg_proc where proname = 'hashtextextended'))::text"
        ),
        # Their numbers differ on a big-endian machine, and might differ in a future version.
        sql(
            "select (hashtextextended('ingest äöü €🙂' collate \"C\", 1) = -943904104723241701 "
            "and hashint4extended(7, 1) = -3604598377573523768 "
            "and hashint8extended(-9223372036854775808, 1) = 2560836655869490746 "
            "and hashfloat8extended(0.1, 1) = -362998253031403789 "
            "and hashfloat8extended('NaN', 1) = 3661006396734384099 and hashfloat8extended('-0', 5) = 5 "
            "and uuid_hash_extended('6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab', 1) = 6076926800177370206)::text"
        ),
    ),
    hashes={
        "boolean": ((r"boolean|bit\(1\)", sql("hashint4extended({c}::int, {seed})")),),
        "integer": (
            ("smallint|integer", sql("hashint4extended({c}, {seed})")),
            ("bigint", _BIG),
            ("oid", _BIG.of(c=sql("{c}::bigint"))),
        ),
        "double": (
            ("double precision", sql("hashfloat8extended({c}, {seed})")),
            ("real", sql("hashfloat8extended({c}::text::double precision, {seed})")),
        ),
        "date": (("date", sql(_IN_YEARS, text=sql("hashint4extended({c} - date '2000-01-01', {seed})"))),),
        "uuid": (("uuid", sql("uuid_hash_extended({c}, {seed})")),),
    },
    text=sql('hashtextextended({c} collate "C", {seed})'),
    seed=sql("hashint4extended({number}, 0)"),  # a constant for the planner
    joined=" # ",
    none=sql("coalesce({c}, 0)"),
    row=sql('hashtextextended(({c})::text collate "C", 0)'),
    spark="ingest_row_postgres_hash",
)

POSTGRES = Database(
    name="postgres",
    title="PostgreSQL",
    drivers={"jdbc:postgresql:": "org.postgresql.Driver"},
    quotes=('"', '"'),
    joined=sql("{a} || {b}"),
    octets=sql("octet_length({c})::text"),
    digest=sql("md5(convert_to({c}, 'UTF8'))"),
    exact=sql('{c} collate "C"'),
    number=sql("('x' || left({h}, 14))::bit(56)::bigint"),
    hashing=_HASHING,
    concat_skips_nulls=True,
    bucket=sql("('x' || left({h}, 7))::bit(28)::int % {n}"),
    version=sql("xmin::text::bigint"),
    setup=(
        # `parallel` also bounds the processes, and a chunk's query is too short for parallel workers.
        sql("set max_parallel_workers_per_gather = 0"),
        sql("set timezone = 'UTC'"),
        sql("set datestyle = 'ISO'"),
        sql("set bytea_output = 'hex'"),
        sql("set lc_monetary = 'C'"),
    ),
    # With synchronous_commit = off, rows are visible before the log with their commit is written, so take the
    # position of the next record. After a page's header of 24 octets nothing is sent before that record, and
    # a commit is longer.
    position=sql(
        "select (case when pg_current_wal_insert_lsn() - pg_current_wal_lsn() <= 24 "
        "then pg_current_wal_lsn() else pg_current_wal_insert_lsn() end)::text"
    ),
    # Debezium confirms a position only after changes of its own tables. In a quiet database it receives the
    # end of the log, and never confirms it.
    delivered=sql(
        "select case when count(*) <> 1 then null "
        "when bool_and(s.confirmed_flush_lsn >= {position}::pg_lsn) then 'delivered' "
        "when bool_and(r.write_lsn >= {position}::pg_lsn) then 'received' else 'pending' end "
        "from pg_replication_slots s left join pg_stat_replication r on r.pid = s.active_pid "
        "where s.slot_type = 'logical' and s.database = current_database() "
        "and ({slot} = '' or s.slot_name = {slot})"
    ),
    current=sql("select current_database()::text"),
    traps=POSTGRES_TRAPS,
    replica=sql("select pg_is_in_recovery()::text"),
    columns=sql(
        "select a.attname::text, format_type(a.atttypid, a.atttypmod) from pg_attribute a "
        "join pg_class t on t.oid = a.attrelid join pg_namespace n on n.oid = t.relnamespace "
        "where n.nspname = {schema} and t.relname = {table} and t.relkind in ('r', 'p', 'f', 'v', 'm') "
        "and a.attnum > 0 and not a.attisdropped order by a.attnum"
    ),
    forms={
        "integer": (("smallint|integer|bigint|oid", sql("{c}::text")),),
        "double": (
            ("double precision", _BITS64),
            ("real", _BITS64.of(c=sql("{c}::text::double precision"))),
        ),
        "decimal": (
            (r"numeric\(\d+,SCALE\)", sql("nullif({c}, 'NaN')::text")),
            (
                r"numeric.*",
                sql(
                    "(case when scale({c}) > {scale} then {c} "
                    "else round(nullif({c}, 'NaN'), {scale}) end)::text"
                ),
            ),
            ("smallint|integer|bigint|money", sql("round({c}::numeric, {scale})::text")),
        ),
        "uuid": (("uuid", sql("{c}::text")),),
        "date": (("date", sql(_IN_YEARS, text=sql("{c}::text"))),),
        "timestamp": ((r"timestamp(\(\d\))? without time zone", sql(_IN_YEARS, text=sql("{c}::text"))),),
        "timestamp3": (
            (
                r"timestamp(\(\d\))? without time zone",
                sql(_IN_YEARS, text=sql("date_trunc('milliseconds', {c})::text")),
            ),
        ),
        "instant": (
            (
                r"timestamp(\(\d\))? with time zone",
                sql(_IN_YEARS, text=sql("({c} at time zone 'UTC')::text")),
            ),
        ),
        # Text keeps what a timestamp cannot hold, as Java writes it.
        "instant_text": (
            (
                r"timestamp(\(\d\))? with time zone",
                sql(
                    "case when {c} in ('infinity', '-infinity') then {c}::text "
                    "when {c} between '0001-01-01' and '9999-12-31 23:59:59.999999' "
                    "then ({c} at time zone 'UTC')::text "
                    "else case when {c} < '0001-01-01' "
                    "then '-' || lpad((-1 - extract(year from {c}))::int::text, 4, '0') "
                    "else '+' || extract(year from {c})::int::text end "
                    """|| to_char({c}, '-MM-DD"T"HH24:MI:SS.US"Z"') end"""
                ),
            ),
        ),
        "boolean": (
            ("boolean", sql("{c}::text")),
            (r"bit\(1\)", sql("case when {c} = B'1' then 'true' when {c} = B'0' then 'false' end")),
        ),
        "float": (("real", sql("('x' || encode(float4send({c} + 0::real), 'hex'))::bit(32)::int::text")),),
        "number": (
            (
                "numeric.*",
                sql(
                    "case when {c}::text in ('NaN', 'Infinity', '-Infinity') then null "
                    "when strpos({c}::text, '.') > 0 then rtrim(rtrim({c}::text, '0'), '.') "
                    "else {c}::text end"
                ),
            ),
        ),
        "text": (
            (r"character varying(\(\d+\))?|text", sql("{c}")),
            (r"(?!.*hstore|.*\[\]).*", _OUTPUT),
        ),
        "json": (("json|jsonb", sql("{c}::text")),),
        "binary": (("bytea", sql("encode({c}, 'hex')")),),
        "bits": (
            (
                r"bit( varying)?\(([1-9]|[1-5]\d|6[0-4])\)",
                sql("lpad({c}::text, 64, '0')::bit(64)::bigint::text"),
            ),
        ),
        "clock3": ((r"time(\(\d\))? without time zone", sql("to_char({c}, 'HH24:MI:SS.MS')")),),
        "clock6": ((r"time(\(\d\))? without time zone", sql("to_char({c}, 'HH24:MI:SS.US')")),),
        "clock_micros": (
            (
                r"time(\(\d\))? without time zone",
                sql("(extract(epoch from {c}) * 1000000)::bigint::text"),
            ),
        ),
        "zoned_clock": (
            (
                r"time(\(\d\))? with time zone",
                sql(
                    "rtrim(rtrim(to_char(({c} at time zone 'UTC')::time, 'HH24:MI:SS.US'), '0'), '.') || 'Z'"
                ),
            ),
        ),
        "duration_micros": (
            (
                "interval.*",
                sql(
                    "((extract(year from {c})::numeric * 12 + extract(month from {c})::numeric) "
                    "* 2629800000000 + extract(day from {c})::numeric * 86400000000 "
                    "+ extract(hour from {c})::numeric * 3600000000 "
                    "+ extract(minute from {c})::numeric * 60000000 "
                    "+ extract(microseconds from {c})::numeric)::bigint::text"
                ),
            ),
        ),
        "point": (
            (
                "point",
                sql("{x} || '/' || {y}", x=_BITS64.of(c=sql("({c})[0]")), y=_BITS64.of(c=sql("({c})[1]"))),
            ),
        ),
        "array": (
            (
                ".*",
                sql(
                    "case when {c} is not null then '[' || coalesce((select string_agg({item}, ',' order by "
                    "e.i) from unnest({c}) with ordinality e(x, i)), '') || ']' end"
                ),
            ),
        ),
    },
)
