"""Spark types as frozen values: read and written as DDL, compared, widened, reshaped.

No pyspark here: schemas, plans and type pages are made without a JVM.
"""

import re
from typing import assert_never

import attrs

from ingest.sql.template import Sql, ident, join, quote, sql, struct, word

MAX_PRECISION = 38
"""Digits that a Spark decimal holds (org.apache.spark.sql.types.DecimalType.MAX_PRECISION)."""


@attrs.frozen
class Simple:
    """A type without parameters: `int`, `bigint`, `string`, `timestamp_ntz` and the like."""

    name: str

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class Decimal:
    """`decimal(precision,scale)`."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@attrs.frozen
class ArrayOf:
    """`array<items>`."""

    items: "SparkType"

    def __str__(self) -> str:
        return f"array<{self.items}>"


@attrs.frozen
class MapOf:
    """`map<string,values>`."""

    values: "SparkType"

    def __str__(self) -> str:
        return f"map<string,{self.values}>"


@attrs.frozen
class Struct:
    """`struct<name:type,…>`."""

    fields: tuple[tuple[str, "SparkType"], ...]

    def __str__(self) -> str:
        return f"struct<{','.join(f'{quote(name)}:{kind}' for name, kind in self.fields)}>"


SparkType = Simple | Decimal | ArrayOf | MapOf | Struct


def type_sql(spark_type: SparkType) -> Sql:
    """Return a type as SQL writes it, in a cast."""
    match spark_type:
        case Simple(name):
            return word(name)
        case Decimal(precision, scale):
            return sql("decimal({precision},{scale})", precision=precision, scale=scale)
        case ArrayOf(items):
            return sql("array<{items}>", items=type_sql(items))
        case MapOf(values):
            return sql("map<string,{values}>", values=type_sql(values))
        case Struct(fields):
            typed = (sql("{name}:{type}", name=ident(n), type=type_sql(t)) for n, t in fields)
            return sql("struct<{fields}>", fields=join(",", typed))
        case _:
            assert_never(spark_type)


def cast(value: Sql, spark_type: SparkType) -> Sql:
    """Return a value as a type."""
    return sql("cast({c} as {type})", c=value, type=type_sql(spark_type))


def null_of(spark_type: SparkType) -> Sql:
    """Return the null of a type."""
    return cast(sql("null"), spark_type)


# --- DDL ---------------------------------------------------------------------------------------

_TOKEN = re.compile(r"`(?:[^`]|``)+`|\w+|\S")
_PARAMETRIC = ("decimal", "array", "map", "struct")
_SYNONYMS = {"integer": "int", "long": "bigint", "byte": "tinyint", "short": "smallint"}


def parse_ddl(text: str) -> SparkType:
    """Parse a type as Spark writes it (`simpleString`).  Raises `ValueError` on anything else."""
    try:
        kind, rest = _parse(_TOKEN.findall(text))
    except (IndexError, ValueError) as error:
        raise ValueError(f"'{text}' is not a Spark type") from error
    if rest:
        raise ValueError(f"'{text}' is not a Spark type")
    return kind


def _parse(tokens: list[str]) -> tuple[SparkType, list[str]]:
    match tokens:
        case ["decimal", "(", precision, ",", scale, ")", *rest]:
            return Decimal(int(precision), int(scale)), rest
        case ["array", "<", *rest]:
            items, rest = _parse(rest)
            return ArrayOf(items), _expect(rest, ">")
        case ["map", "<", "string", ",", *rest]:
            values, rest = _parse(rest)
            return MapOf(values), _expect(rest, ">")
        case ["struct", "<", *rest]:
            return _parse_fields(rest)
        case [name, *rest] if re.fullmatch(r"[a-z_]+", name) and name not in _PARAMETRIC:
            return Simple(_SYNONYMS.get(name, name)), rest
        case _:
            raise ValueError(tokens)


def _parse_fields(tokens: list[str]) -> tuple[SparkType, list[str]]:
    fields: list[tuple[str, SparkType]] = []
    while tokens[0] != ">":
        name, *rest = tokens
        kind, tokens = _parse(_expect(rest, ":"))
        fields.append((_unquote(name), kind))
        tokens = tokens if tokens[0] == ">" else _expect(tokens, ",")
    return Struct(tuple(fields)), tokens[1:]


def _unquote(name: str) -> str:
    if name[0] == "`":
        return name[1:-1].replace("``", "`")
    if re.fullmatch(r"\w+", name) is None:
        raise ValueError(name)
    return name


def _expect(tokens: list[str], token: str) -> list[str]:
    if tokens[0] != token:
        raise ValueError(token)
    return tokens[1:]


# --- widening ----------------------------------------------------------------------------------

_WIDER = {
    ("int", "bigint"): "bigint",
    ("int", "double"): "double",  # 53 bits hold every int
    ("float", "double"): "double",
}


_DIGITS = {"int": 10, "bigint": 19}
"""Digits of the largest whole numbers."""


def widest(one: SparkType, other: SparkType) -> SparkType | None:
    """Return the narrowest type that holds every value of both, or None.

    The list has only lossless changes, so not int to string, which Hudi would accept silently and
    permanently.  `in_place` tells which of them Hudi 1.2 evolves in place.
    """
    match one, other:
        case _ if one == other:
            return one
        case Simple(left), Simple(right):
            wider = _WIDER.get((left, right)) or _WIDER.get((right, left))
            return Simple(wider) if wider else None
        case Decimal(), Decimal():
            return _widest_decimal(one, other)
        case (Simple(whole), Decimal() as exact) | (Decimal() as exact, Simple(whole)) if whole in _DIGITS:
            return _widest_decimal(Decimal(_DIGITS[whole], 0), exact)
        case ArrayOf(left_items), ArrayOf(right_items):
            items = widest(left_items, right_items)
            return ArrayOf(items) if items else None
        case MapOf(left_values), MapOf(right_values):
            values = widest(left_values, right_values)
            return MapOf(values) if values else None
        case Struct(left_fields), Struct(right_fields):
            return _widest_struct(dict(left_fields), dict(right_fields))
        case _:
            return None


def _widest_decimal(one: Decimal, other: Decimal) -> Decimal | None:
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale)
    return Decimal(digits + scale, scale) if digits + scale <= MAX_PRECISION else None


def _widest_struct(left: dict[str, SparkType], right: dict[str, SparkType]) -> Struct | None:
    fields: list[tuple[str, SparkType]] = []
    for name in dict.fromkeys([*left, *right]):
        both = [kinds[name] for kinds in (left, right) if name in kinds]
        kind = widest(both[0], both[-1])
        if kind is None:
            return None
        fields.append((name, kind))
    return Struct(tuple(fields))


def in_place(was: SparkType, wider: SparkType) -> bool:
    """Tell whether Spark reads stored values of one type as a wider one, without a rewrite of every file.

    Hudi reads a float as a double by its text (HUDI-8902): 0.1 remains 0.1, which is 0.10000000149011612 in
    the source.

    Hudi's vectorized reader, Spark's default, refuses files in which a value inside a struct, an array or a
    map has another type (`ParquetSchemaEvolutionUtils` of 1.2.0).  A field that they lack is null.
    """
    match was, wider:
        case (Simple(), Decimal()) | (Simple("float"), Simple("double")):
            return False
        case Simple() | Decimal(), Simple() | Decimal():
            return True
        case _:
            return _has_types_of(was, wider)


def _has_types_of(was: SparkType, wider: SparkType) -> bool:
    """Tell whether two nested types differ by added fields only."""
    match was, wider:
        case (ArrayOf(one), ArrayOf(other)) | (MapOf(one), MapOf(other)):
            return _has_types_of(one, other)
        case Struct(fields), Struct(others):
            kinds = dict(others)
            return all(_has_types_of(kind, kinds[name]) for name, kind in fields)
        case _:
            return was == wider


# --- reshaping ---------------------------------------------------------------------------------


def reshape(value: Sql, spark_type: SparkType, target: SparkType) -> Sql:
    """Return `value`, of type `spark_type`, as the wider type `target` (see `widest`)."""
    match spark_type, target:
        case _ if spark_type == target:
            return value
        case Struct(fields), Struct(targets):
            return _reshape_struct(value, dict(fields), targets)
        case ArrayOf(items), ArrayOf(target_items):
            item = reshape(sql("x"), items, target_items)
            return sql("transform({c}, x -> {item})", c=value, item=item)
        case MapOf(values), MapOf(target_values):
            wider = reshape(sql("v"), values, target_values)
            return sql("transform_values({c}, (k, v) -> {wider})", c=value, wider=wider)
        case _:
            return cast(value, target)


def _reshape_struct(
    value: Sql, fields: dict[str, SparkType], targets: tuple[tuple[str, SparkType], ...]
) -> Sql:
    parts = struct(
        (name, reshape(value.field(name), fields[name], target) if name in fields else null_of(target))
        for name, target in targets
    )
    return sql("if({c} is null, null, {struct})", c=value, struct=parts)


def has_map(kind: SparkType) -> bool:
    """Tell whether a map is in the type: Spark cannot compare maps."""
    match kind:
        case Simple() | Decimal():
            return False
        case ArrayOf(items):
            return has_map(items)
        case MapOf():
            return True
        case Struct(fields):
            return any(has_map(field) for _, field in fields)
        case _:
            assert_never(kind)
