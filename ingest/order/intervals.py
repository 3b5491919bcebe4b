"""The intervals of versions, from the order of the changes of a key.

The source's clock may run backwards, and some events have no time: a version begins at the newest time of its
key so far, at the earliest in 1970.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame

from ingest.compile.event import COORDINATES, CURRENT, END_POSITION, PARTIAL, VALID_FROM, VALID_TO
from ingest.compile.evolve import Evolution
from ingest.compile.row_model import REMOVED
from ingest.order.chosen import OUTSIDE
from ingest.order.columns import never_null, select
from ingest.order.tombstone_ends import IS_TOMBSTONE, MARK, NEWEST
from ingest.order.truncates import IS_NEW, SWEPT, WAS
from ingest.order.version_values import LOST
from ingest.spark.java import select_expr
from ingest.sql.template import Sql, ident, literal, sql, struct
from ingest.sql.types import Simple, SparkType, has_map

BOOKKEEPING: Final = ("_cdc_op", "_cdc_position", "_cdc_source_ts", "_cdc_schema_id", *COORDINATES)
INTERVAL: Final = (VALID_FROM, VALID_TO, END_POSITION, CURRENT)
_ENDS: Final = "_ingest_ends"
_VALUES: Final = "_ingest_values"
_BEGINS: Final = "_ingest_begins"
_TIME: Final = "_ingest_time"
_NEXT_TIME: Final = "_ingest_next_time"
_NEXT_POSITION: Final = "_ingest_next_position"
_NEVER_NULL: Final = {
    "_cdc_position": Simple("string"),
    "_cdc_partition": Simple("int"),
    "_cdc_offset": Simple("bigint"),
    VALID_FROM: Simple("timestamp"),
    CURRENT: Simple("boolean"),
}
_MICROS: Final = sql("'yyyy-MM-dd HH:mm:ss.SSSSSS'")


def with_intervals(rows: DataFrame, evolution: Evolution, order: Sql) -> DataFrame:
    """Return the rows to write, with their intervals: the batch's rows, and stored ones that differ."""
    ends = sql("_cdc_op = 'd' or {outside}", outside=ident(OUTSIDE))
    fields = [(c.name, comparable(ident(c.name), c.spark)) for c in evolution.columns]
    values = struct(fields or [("none", sql("cast(null as boolean)"))])  # Spark has no struct without fields
    packed = _packed(evolution)
    others = (ident(name) for name in rows.columns if name not in packed)
    marked = select_expr(rows, *map(str, (*others, ends.alias(_ENDS), values.alias(_VALUES))))
    begins = _begins(order).alias(_BEGINS)
    if SWEPT in rows.columns:  # an end that is not one has no time, either
        time = sql(
            "if({swept} and not {begins}, null, _cdc_source_ts)", swept=ident(SWEPT), begins=ident(_BEGINS)
        )
        begun = marked.selectExpr("*", str(begins)).selectExpr("*", str(_time(time, order).alias(_TIME)))
    else:
        begun = marked.selectExpr("*", str(begins), str(_time(sql("_cdc_source_ts"), order).alias(_TIME)))
    nexts = (
        _next(ident(_TIME), order).alias(_NEXT_TIME),
        _next(ident("_cdc_position"), order).alias(_NEXT_POSITION),
    )
    return _written(begun.selectExpr("*", *map(str, nexts)), evolution)


def _packed(evolution: Evolution) -> dict[str, Sql]:
    """Return the columns that windows carry only in the struct of values: a row twice as wide costs twice."""
    return {c.name: ident(_VALUES).field(c.name) for c in evolution.columns if not has_map(c.spark)}


def _begins(order: Sql) -> Sql:
    """Return a condition that is true for a change that begins a version, or ends the one before it."""
    return sql(
        "if({ends}, not {was_ended}, {was_ended} or not (lag({values}) over ({order}) <=> {values}))",
        ends=ident(_ENDS),
        was_ended=sql("coalesce(lag({ends}) over ({order}), true)", ends=ident(_ENDS), order=order),
        values=ident(_VALUES),
        order=order,
    )


def _time(time: Sql, order: Sql) -> Sql:
    return sql(
        "max(coalesce({time}, timestamp_millis(0))) "
        "over ({order} rows between unbounded preceding and current row)",
        time=time,
        order=order,
    )


def _next(value: Sql, order: Sql) -> Sql:
    return sql(
        "lead(if({begins}, {value}, null)) ignore nulls over ({order})",
        begins=ident(_BEGINS),
        value=value,
        order=order,
    )


def comparable(value: Sql, spark_type: SparkType) -> Sql:
    """Return a value that Spark can compare: maps as text."""
    if not has_map(spark_type):
        return value
    formats = sql("map('timestampFormat', {micros}, 'timestampNTZFormat', {micros})", micros=_MICROS)
    return sql("to_json({c}, {formats})", c=value, formats=formats)


def _differs(rows: DataFrame, interval: Mapping[str, Sql], evolution: Evolution) -> Sql:
    """Return a condition that is true for changes of the batch, and for stored ones that are not the same."""
    types = {column.name: column.spark for column in evolution.columns}
    names = [name for name in rows.select(f"{WAS}.*").columns if name not in interval]
    packed = _packed(evolution)
    filled = ((name, packed.get(name) or comparable(ident(name), types[name])) for name in names)
    now = struct([*interval.items(), *filled])
    return sql("{new} or not ({now} <=> {was})", new=ident(IS_NEW), now=now, was=ident(WAS))


def _written(rows: DataFrame, evolution: Evolution) -> DataFrame:
    """Return the rows to write, with the columns of the table and the marks LOST and OUTSIDE."""
    interval = _interval()
    columns = {
        **{name: ident(name) for name in BOOKKEEPING},
        **interval,
        **{name: ident(name) for name in (PARTIAL, *(c.name for c in evolution.keys))},
        **{column.name: ident(column.name) for column in evolution.columns},
        **_packed(evolution),
    }
    removed = sql("false")
    columns[PARTIAL] = sql(
        "if({end}, {mark}, {partial})",
        end=ident(IS_TOMBSTONE),
        mark=literal(MARK),
        partial=ident(PARTIAL),
    )
    if SWEPT in rows.columns:
        removed = sql("({swept} and not {begins})", swept=ident(SWEPT), begins=ident(_BEGINS))
        if NEWEST in rows.columns:
            columns["_cdc_position"] = sql(
                "if({removed} and {end}, {newest}, _cdc_position)",
                removed=removed,
                end=ident(IS_TOMBSTONE),
                newest=ident(NEWEST),
            )
        columns["_cdc_op"] = sql("if({removed}, {op}, _cdc_op)", removed=removed, op=literal(REMOVED))
        rows = rows.where(str(sql("not ({new} and {removed})", new=ident(IS_NEW), removed=removed)))
    if WAS in rows.columns:
        differs = _differs(rows, interval, evolution)
        rows = rows.where(str(sql("{removed} or {differs}", removed=removed, differs=differs)))
    types = {column.name: column.spark for column in evolution.keys} | _NEVER_NULL
    columns |= {name: never_null(columns[name], spark_type) for name, spark_type in types.items()}
    columns |= {
        mark: sql("{new} and {mark}", new=ident(IS_NEW), mark=ident(mark)) for mark in (LOST, OUTSIDE)
    }
    return select(rows, columns)


def _interval() -> dict[str, Sql]:
    """Return the columns of the interval.  A change that made no version ends where it begins."""
    is_version = sql("({begins} and not {ends})", begins=ident(_BEGINS), ends=ident(_ENDS))
    end, position, time = ident(_NEXT_TIME), ident(_NEXT_POSITION), ident(_TIME)
    return {
        VALID_FROM: time,
        VALID_TO: sql("if({version}, {end}, {time})", version=is_version, end=end, time=time),
        END_POSITION: sql("if({version}, {end}, _cdc_position)", version=is_version, end=position),
        CURRENT: sql("{version} and {end} is null", version=is_version, end=position),
    }
