"""The columns of a frame, by name."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from ingest.spark.java import select_expr
from ingest.sql.template import Sql, literal, sql, word
from ingest.sql.types import SparkType, cast, null_of, parse_ddl


def select(rows: DataFrame, columns: Mapping[str, Sql]) -> DataFrame:
    """Return the columns with these names and values."""
    return select_expr(rows, *(str(value.alias(name)) for name, value in columns.items()))


def types_of(rows: DataFrame) -> dict[str, SparkType]:
    """Return the type of each column."""
    return {field.name: parse_ddl(field.dataType.simpleString()) for field in rows.schema}


def nulls_of(rows: DataFrame) -> dict[str, Sql]:
    """Return a null in the type of each column."""
    return {name: null_of(spark_type) for name, spark_type in types_of(rows).items()}


def never_null(value: Sql, spark_type: SparkType) -> Sql:
    """Mark a value that is never null as NOT NULL: Spark does so for a `coalesce` with a constant."""
    return sql("coalesce({value}, {never_used})", value=value, never_used=_some_value(spark_type))


def _some_value(spark_type: SparkType) -> Sql:
    match str(spark_type):
        case "date" | "timestamp" | "timestamp_ntz" as type_name:
            return sql("{type}'1970-01-01'", type=word(type_name))
        case "string" | "binary":
            return cast(literal(""), spark_type)
        case _:
            return cast(sql("0"), spark_type)
