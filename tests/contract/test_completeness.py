"""Properties of every row, every dialect and every error, so that a new one is complete."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import attrs
import pytest

from ingest import avro
from ingest.dialects import DIALECTS
from ingest.errors import IngestError
from ingest.sql.template import sql
from ingest.sql.types import parse_ddl
from ingest.tables import Types
from ingest.tables.evolution import RULES
from ingest.typemap.column import Mapper
from ingest.typemap.lookup import rows_of
from ingest.typemap.rows import (
    POLICIES,
    TYPES,
    TYPES_BY_TICK,
    TYPES_OF_DURATIONS,
    TYPES_OF_OPTIONS,
    TypeRow,
)

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "registry_fixtures"
SCHEMAS = sorted(FIXTURES.glob("*/*/v*.avsc"))
ROWS = {
    " ".join((*key, special)).strip(): row
    for special, rows in {
        "": TYPES,
        "duration": TYPES_OF_DURATIONS,
        "option": TYPES_OF_OPTIONS,
        **{f"{tick} ns": rows for tick, rows in TYPES_BY_TICK.items()},
    }.items()
    for key, row in rows.items()
}
TEMPORAL = re.compile(r"\.time\.|(^|\.)(date|time|timestamp)", re.IGNORECASE)


def short(path: Path) -> str:
    """Name a schema's file."""
    return f"{path.parent.name}/{path.stem}"


def scalars(
    schema: avro.Schema, path: str = "$"
) -> Iterator[tuple[str, avro.Scalar | avro.Enum | avro.Fixed]]:
    """Walk to the types that are not containers."""
    match schema:
        case avro.Scalar() | avro.Enum() | avro.Fixed():
            yield path, schema
        case avro.Nullable(of=inner) | avro.Array(items=inner) | avro.MapOf(values=inner):
            yield from scalars(inner, path)
        case avro.Union(branches=branches):
            for branch in branches:
                yield from scalars(branch, path)
        case avro.Record(fields=fields):
            for field in fields:
                yield from scalars(field.type, f"{path}.{field.name}")


# --- fixtures --------------------------------------------------------------------------------------


def test_there_are_fixtures() -> None:
    """Else the tests below would pass for nothing."""
    assert len(SCHEMAS) > 10


@pytest.mark.parametrize("dialect", sorted(DIALECTS.keys() - {"record"}))
def test_every_dialect_has_a_recorded_folder(dialect: str) -> None:
    """With schemas (CDL's are in its messages), messages and the rows that its source held."""
    folder = FIXTURES / dialect
    assert (folder / "fixture.json").is_file()
    assert dialect == "cdl" or list(folder.glob("*/v*.avsc"))
    assert list(folder.glob("messages/*.jsonl.gz"))
    assert list(folder.glob("expected/*.json.gz"))


@pytest.mark.parametrize("path", SCHEMAS, ids=short)
def test_every_recorded_type_is_in_the_type_table(path: Path) -> None:
    """Under the default policies, wherever in the schema it stands."""
    dialect = DIALECTS[path.parents[1].name.partition("-")[0]]
    mapper = Mapper(short(path), rows=rows_of(dialect))
    for position, kind in scalars(avro.parse(path.read_text())):
        assert parse_ddl(str(mapper.map(kind, position).spark))


@pytest.mark.parametrize("path", SCHEMAS, ids=short)
def test_every_recorded_schema_has_its_golden_file(path: Path) -> None:
    """`make golden` writes them."""
    assert path.with_suffix(".expected.json").is_file()


# --- rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_every_row_names_its_source(row: TypeRow) -> None:
    """A page that says so, by its short name."""
    assert row.source.startswith(("AVRO", "CDL ", "DBZ ", "KC "))


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name) for name, row in ROWS.items() if TEMPORAL.search(row.semantic)]
)
def test_every_temporal_row_has_a_unit(row: TypeRow) -> None:
    """A number without one is a guess."""
    assert row.unit


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_every_row_gives_a_spark_type(row: TypeRow) -> None:
    """And SQL over the value alone."""
    keeps_its_structure = row.physical in ("record", "array") and not row.spark
    assert keeps_its_structure or parse_ddl(row.spark.format(precision=38, scale=4))
    assert row.sql.holes == {"c"}
    for template in filter(None, (row.sql, row.fault, row.beyond)):
        assert template.holes <= {"c", "out"}
        text = str(template.of(c=sql("c"), out=sql("out")))
        assert text.count("(") == text.count(")")


def test_policies_are_complete() -> None:
    """A type with a policy has a row for each of the values that `[types]` allows it."""
    hints = get_type_hints(Types)
    fallback = {("io.debezium.time.IsoTimestamp", "string", "bigint")}  # text has no number: timestamp
    expected = {
        (semantic, physical, value)
        for semantic, policy in POLICIES.items()
        for physical in {p for s, p, _ in TYPES if s == semantic}
        for value in get_args(hints[policy])
    }
    assert expected - set(TYPES) == fallback
    assert {semantic for semantic, _, policy in TYPES if policy} == set(POLICIES)


# --- errors ----------------------------------------------------------------------------------------


def error_names(base: type[IngestError]) -> set[str]:
    """Collect the error classes that have fields."""
    children = base.__subclasses__()
    own = {child.__name__ for child in children if attrs.has(child)}
    return own.union(*(error_names(child) for child in children))


def called_names(path: Path) -> set[str]:
    """Collect the names that a module calls, or passes to a function that calls them."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    parts = [part for call in calls for part in (call.func, *call.args)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def test_every_error_is_raised_somewhere() -> None:
    """A class that no code constructs is dead."""
    called = set[str]().union(*(called_names(path) for path in (ROOT / "ingest").rglob("*.py")))
    assert error_names(IngestError) - called == set()


def test_golden_files_are_of_schemas_that_there_are() -> None:
    """None is left behind by a version that went."""
    golden = set(FIXTURES.glob("*/*/v*.expected.json"))
    assert golden == {path.with_suffix(".expected.json") for path in SCHEMAS}
    assert all(json.loads(path.read_text())["columns"] for path in golden)


def test_the_page_of_schema_changes_has_every_kind_with_its_default() -> None:
    """As `ingest.tables.evolution` has them, word for word."""
    page = (ROOT / "docs" / "schema-changes.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| `(\w+)`: (.*) \|$", page, re.MULTILINE)
    assert rows == [(kind, rule.default, rule.effects[rule.default]) for kind, rule in RULES.items()]
