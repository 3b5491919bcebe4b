"""SQL Server, 2019 and later: older versions have no collation for UTF-8."""

from ingest.sources.database import Database
from ingest.sql.template import sql

_UTF8 = sql("cast({c} as varchar(max)) collate Latin1_General_100_BIN2_UTF8")
# Trailing zeros become blanks and are cut, while a T replaces the blank between date and time.
_FRACTION = sql(
    "replace(replace(replace(replace(rtrim(replace({text}, '0', ' ')), ' ', '0') + '$', "
    "'.$', '$'), '$', ''), 'T', ' ')",
    text=sql("replace(convert(varchar(26), cast({c} as datetime2(6)), 121), ' ', 'T')"),
)

SQLSERVER = Database(
    name="sqlserver",
    title="SQL Server",
    drivers={"jdbc:sqlserver:": "com.microsoft.sqlserver.jdbc.SQLServerDriver"},
    quotes=("[", "]"),
    joined=sql("({a} + {b})"),
    octets=sql("cast(datalength({c}) as varchar(20))"),
    digest=sql(
        "lower(convert(char(32), hashbytes('MD5', {utf8}), 2))",
        utf8=_UTF8,
    ),
    number=sql("cast(convert(varbinary(7), left({h}, 14), 2) as bigint)"),
    bucket=sql("cast(convert(varbinary(4), '0' + left({h}, 7), 2) as int) % {n}"),
    current=sql("select db_name()"),
    replica=sql(
        "select case databasepropertyex(db_name(), 'Updateability') "
        "when 'READ_ONLY' then 'true' else 'false' end"
    ),
    position=sql("select convert(varchar(22), sys.fn_cdc_get_max_lsn(), 2)"),
    columns=sql(
        "select c.name, t.name + case when t.name in ('decimal', 'numeric') then "
        "'(' + cast(c.precision as varchar) + ',' + cast(c.scale as varchar) + ')' else '' end "
        "from sys.columns c join sys.types t on t.user_type_id = c.user_type_id "
        "where c.object_id = object_id(quotename({schema}) + '.' + quotename({table})) order by c.column_id"
    ),
    forms={
        "boolean": (("bit", sql("case {c} when 1 then 'true' when 0 then 'false' end")),),
        "integer": (("tinyint|smallint|int|bigint", sql("cast({c} as varchar(20))")),),
        "decimal": (
            (r"(decimal|numeric)\(\d+,SCALE\)", sql("cast({c} as varchar(41))")),
            (
                "(decimal|numeric).*|money|smallmoney",
                sql("cast(cast({c} as decimal(38,{scale})) as varchar(41))"),
            ),
        ),
        "text": (("n?(var)?char|n?text|sysname", _UTF8),),
        "uuid": (("uniqueidentifier", sql("lower(cast({c} as varchar(36)))")),),
        "binary": (("(var)?binary|timestamp|rowversion", sql("lower(convert(varchar(max), {c}, 2))")),),
        "date": (("date", sql("convert(varchar(10), {c}, 23)")),),
        # The connector truncates, a cast rounds: digits below 1 ms would differ by themselves.
        "timestamp3": (("smalldatetime", _FRACTION),),
        "timestamp": (("datetime|datetime2|smalldatetime", _FRACTION),),
    },
)  # fmt: skip
