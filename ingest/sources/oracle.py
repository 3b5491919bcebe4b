"""Oracle, 12.2 and later."""

from ingest.sources.database import Database
from ingest.sql.template import sql

# Oracle writes .5, and Debezium 0.5.
_NUMBER = sql("regexp_replace(to_char({c}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,'''), '^(-?)[.]', '\\10.')")
_INSTANT = (
    (
        r"TIMESTAMP\(\d\) WITH TIME ZONE",
        sql("rtrim(rtrim(to_char(sys_extract_utc({c}), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.')"),
    ),
)

ORACLE = Database(
    name="oracle",
    title="Oracle",
    drivers={"jdbc:oracle:": "oracle.jdbc.OracleDriver"},
    quotes=('"', '"'),
    joined=sql("({a} || {b})"),
    octets=sql("to_char(lengthb(convert({c}, 'AL32UTF8')))"),
    digest=sql("lower(rawtohex(standard_hash(convert({c}, 'AL32UTF8'), 'MD5')))"),
    number=sql("to_number(substr({h}, 1, 14), 'xxxxxxxxxxxxxx')"),
    bucket=sql("mod(to_number(substr({h}, 1, 7), 'xxxxxxx'), {n})"),
    replica=sql("select case database_role when 'PRIMARY' then 'false' else 'true' end from v$database"),
    position=sql("select to_char(current_scn) from v$database"),
    columns=sql(
        "select column_name, data_type || case when data_type = 'NUMBER' and data_precision is not null then "
        "'(' || data_precision || ',' || data_scale || ')' end from all_tab_columns "
        "where owner = {schema} and table_name = {table} order by column_id"
    ),
    forms={
        "integer": ((r"NUMBER\(\d+,0\)", sql("to_char({c})")),),
        "decimal": (
            (r"NUMBER\(\d+,0\)", sql("to_char({c})")),
        ),
        "number": (("NUMBER", _NUMBER),),
        "text": (("N?VARCHAR2|N?CHAR", sql("to_char({c})")),),
        "binary": (("RAW", sql("lower(rawtohex({c}))")),),
        "timestamp3": (
            ("DATE", sql("to_char({c}, 'YYYY-MM-DD HH24:MI:SS')")),
            (
                r"TIMESTAMP\([0-3]\)",
                sql("rtrim(rtrim(to_char({c}, 'YYYY-MM-DD HH24:MI:SS.FF3'), '0'), '.')"),
            ),
        ),
        "timestamp": (
            ("DATE", sql("to_char({c}, 'YYYY-MM-DD HH24:MI:SS')")),
            (
                r"TIMESTAMP\(\d\)",
                sql("rtrim(rtrim(to_char({c}, 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.')"),
            ),
        ),
        "instant": _INSTANT,
        "instant_text": _INSTANT,
    },
)  # fmt: skip
