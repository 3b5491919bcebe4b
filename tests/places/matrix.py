"""Tables of one column type each, and what each reader makes of them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import attrs
from py4j.protocol import Py4JJavaError
from pyarrow import fs
from pyspark.sql import DataFrame

from ingest.jars.artifacts import spark_jars
from ingest.spark.java_errors import root_cause
from ingest.testing.comparison import read_rows
from tests.hudi.conftest import Lake, timeline_of
from tests.places.cells import text
from tests.places.s3 import S3

HERE: Final = Path(__file__).parent
PROGRAMS: Final = HERE.parents[1] / "build" / "readers" / "bin" / "python"
BY_FOLDER: Final = ([PROGRAMS, HERE / "reading.py"], [PROGRAMS, HERE / "clickhouse_reading.py"])
"""The programs that open a table by its folder."""
BUNDLES: Final = sorted((HERE.parents[1] / "jars" / "readers").glob("hudi-spark3.5-bundle_*.jar"))
"""Older versions of Hudi for Spark."""
TABLES: Final = ("cow", "mor", "compacted")
"""Copy-on-write; merge-on-read with a log file; the same after its compaction."""
OPERATIONS: Final = {"i": [4], "u": [1], "d": [2]}
"""The keys of each kind of change after the first commit."""


@attrs.frozen
class ColumnType:
    """A type with two values: as SQL, and as Python's."""

    ddl: str
    old: tuple[str, Any]
    new: tuple[str, Any]

    @property
    def name(self) -> str:
        """The name of its table."""
        return "".join(sign if sign.isalnum() else "_" for sign in self.ddl).strip("_")


_WALL: Final = datetime(2024, 3, 10, 2, 30, 0, 123456)  # noqa: DTZ001  a wall clock
_LATER: Final = datetime(1969, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
TYPES: Final = (
    ColumnType("boolean", ("true", True), ("false", False)),
    ColumnType("int", ("-7", -7), ("2147483647", 2147483647)),
    ColumnType("bigint", ("9223372036854775807L", 2**63 - 1), ("0L", 0)),
    ColumnType("float", ("float('1.5')", 1.5), ("float('-0.25')", -0.25)),
    ColumnType("double", ("0.1D", 0.1), ("-1e300D", -1e300)),
    ColumnType("string", ("'a, \"é\" 漢'", 'a, "é" 漢'), ("''", "")),
    ColumnType("binary", ("X'00FF10'", b"\x00\xff\x10"), ("X''", b"")),
    ColumnType("date", ("date'1969-12-31'", date(1969, 12, 31)), ("date'2024-02-29'", date(2024, 2, 29))),
    ColumnType(
        "timestamp_ntz",
        (f"timestamp_ntz'{_WALL.isoformat(' ')}'", _WALL),
        (f"timestamp_ntz'{_LATER.isoformat(' ')}'", _LATER),
    ),
    ColumnType(
        "timestamp",
        (f"timestamp'{_WALL.isoformat(' ')}Z'", _WALL.replace(tzinfo=UTC)),
        (f"timestamp'{_LATER.isoformat(' ')}Z'", _LATER.replace(tzinfo=UTC)),
    ),
    ColumnType("decimal(9,2)", ("-12.30BD", Decimal("-12.30")), ("9999999.99BD", Decimal("9999999.99"))),
    ColumnType(
        "decimal(38,10)",
        ("cast('1234567890123456789012345678.0123456789' as decimal(38,10))",
         Decimal("1234567890123456789012345678.0123456789")),
        ("cast('-0.0000000001' as decimal(38,10))", Decimal("-0.0000000001")),
    ),
    ColumnType("array<string>", ("array('a', 'b')", ["a", "b"]), ("array('c')", ["c"])),
    ColumnType("map<string,int>", ("map('a', 1, 'b', 2)", {"a": 1, "b": 2}), ("map('c', 3)", {"c": 3})),
    ColumnType(
        "struct<a:int,b:string>",
        ("named_struct('a', 1, 'b', 'x')", {"a": 1, "b": "x"}),
        ("named_struct('a', 2, 'b', 'y')", {"a": 2, "b": "y"}),
    ),
    ColumnType(
        "array<struct<a:int>>",
        ("array(named_struct('a', 1))", [{"a": 1}]),
        ("array(named_struct('a', 2))", [{"a": 2}]),
    ),
)  # fmt: skip


@attrs.frozen(order=True)
class Cell:
    """A reader's result for a type of column in a type of table."""

    reader: str
    table: str
    type: str
    result: str
    """`equal`; `differs` where other rows appear; `fails`."""
    detail: str = ""


def make_frame(
    lake: Lake, changes: Iterable[tuple[str, int, Mapping[str, str]]], types: Mapping[str, str]
) -> DataFrame:
    """Make a batch of changes: op, key and the SQL of each column."""
    rows = []
    for op, key, values in changes:
        columns = ", ".join(
            f"cast({values.get(name, 'null')} as {ddl}) as {name}" for name, ddl in types.items()
        )
        rows.append(
            f"select '{op}' as _cdc_op, '{key}' as _cdc_position, "
            f"timestamp'2024-01-01 00:00:00Z' as _cdc_source_ts, {key} as id, {columns}"
        )
    return lake.spark.sql(" union all ".join(rows))


def write(
    lake: Lake, name: str, table_type: str, types: Mapping[str, ColumnType], **hudi: str
) -> dict[str, Any]:
    """Write a table of two commits; return its path, and when the first one was requested and completed.

    Queries for a state begin with an instant, queries for changes after a completion.  In version 6 both are
    the instant.
    """
    options = {"hoodie.compact.inline.max.delta.commits": "1" if table_type == "compacted" else "9", **hudi}
    target = {"type": "cow" if table_type == "cow" else "mor", "buckets": 1}
    table = attrs.evolve(lake.table(f"{name}_{table_type}", **target), hudi=options)
    ddl = {column: kind.ddl for column, kind in types.items()}
    old = {column: kind.old[0] for column, kind in types.items()}
    new = {column: kind.new[0] for column, kind in types.items()}
    first = lake.commit(table, make_frame(lake, [("c", 1, old), ("c", 2, old), ("c", 3, {})], ddl))
    second = [("u", 1, new), ("d", 2, {}), ("c", 4, old)]
    lake.commit(table, make_frame(lake, second, ddl))
    (completed,) = timeline_of(lake.path(table)).glob(f"{first}*commit")
    times = {"instant": str(first), "completed": completed.stem.rpartition("_")[2]}
    return {"table": table_type, "type": name, "path": lake.path(table), "columns": ["id", "v"], **times}


def expected(kind: ColumnType, reader: str) -> list[list[Any]]:
    """Return the rows that a reader should find."""
    old, new = text(kind.old[1]), text(kind.new[1])
    if "time travel" in reader:
        return [[1, old], [2, old], [3, None]]
    changed = [[1, new], [4, old]]
    return changed if "incremental" in reader else [changed[0], [3, None], changed[1]]


def judged(reader: str, table: str, kind: ColumnType, answer: Mapping[str, Any]) -> Cell:
    """Compare an answer with the rows that it should have."""
    if "problem" in answer:
        return Cell(reader, table, kind.ddl, "fails", answer["problem"])
    wanted = expected(kind, reader)
    if answer["rows"] == wanted:
        return Cell(reader, table, kind.ddl, "equal")
    detail = f"found {json.dumps(answer['rows'], ensure_ascii=False)}"[:200]
    return Cell(reader, table, kind.ddl, "differs", detail)


# --- other programs ----------------------------------------------------------------------------------


def read_by_programs(lake: Lake, s3: S3) -> tuple[dict[str, str], list[Cell]]:
    """Write a table for each type of column and table, and read each by every program."""
    written = [write(lake, kind.name, table, {"v": kind}) for kind, table in product(TYPES, TABLES)]
    jobs = json.dumps(copied(lake, s3, written))
    kinds, versions, cells = {kind.name: kind for kind in TYPES}, dict[str, str](), list[Cell]()
    for program in (*BY_FOLDER, *map(by_spark, BUNDLES), by_hive()):
        read = read_by(program, jobs, "UTC")
        versions |= read["versions"]
        cells += (
            judged(found["reader"], found["table"], kinds[found["type"]], found) for found in read["answers"]
        )
    return versions, cells


def copied(lake: Lake, s3: S3, jobs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Copy a lake to a bucket; return the jobs with the address of each table."""
    bucket = f"copy{uuid4().hex[:8]}"
    s3.client().create_dir(bucket)
    fs.copy_files(
        str(lake.root), bucket, source_filesystem=fs.LocalFileSystem(), destination_filesystem=s3.client()
    )
    return [{**job, "url": f"{s3.endpoint}/{bucket}/{Path(job['path']).name}/"} for job in jobs]


def by_hive(metastore: str = "") -> list[Path | str]:
    """Return the program that reads by Hive, with its metastore or a running one."""
    return [sys.executable, HERE / "hive_reading.py", our_bundle(), *filter(None, [metastore])]


def our_bundle() -> Path:
    """Return the jar of Hudi for Spark."""
    (jar,) = (jar for jar in spark_jars() if jar.name.startswith("hudi-spark"))
    return jar


def by_spark(bundle: Path, *more: str) -> list[Path | str]:
    """Return the program that reads by Spark with another version of Hudi."""
    return [sys.executable, HERE / "spark_reading.py", bundle, *more]


def read_by(program: Sequence[Path | str], jobs: str, zone: str) -> dict[str, Any]:
    """Return the answers of a program, which runs without `ingest` in a time zone, and its versions."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.run(
        program, input=jobs, capture_output=True, check=True, text=True,
        env=environment | {"TZ": zone, "DO_NOT_TRACK": "true"}, timeout=1800,
    )  # fmt: skip
    answers: dict[str, Any] = json.loads(process.stdout)
    return answers


# --- Spark -------------------------------------------------------------------------------------------


CDC: Final = {
    "hoodie.table.cdc.enabled": "true",
    "hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE_AFTER",
}


def read_by_spark(lake: Lake) -> Iterator[Cell]:
    """Write a table with every type of column for each type of table, and read it by Spark's queries."""
    columns = {f"v{number}": kind for number, kind in enumerate(TYPES)}
    for table in TABLES:
        job = write(lake, "all", table, columns, **CDC)
        reader = lake.spark.read.format("hudi")
        after = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": job["completed"],
        }
        frames = {
            "Spark snapshot": reader.load(job["path"]),
            "Spark time travel": reader.option("as.of.instant", job["instant"]).load(job["path"]),
            "Spark incremental": lake.spark.read.format("hudi").options(**after).load(job["path"]),
        }
        for name, df in frames.items():
            found = sorted(read_rows(df, ["id", *columns]), key=lambda row: int(row["id"]))
            for column, kind in columns.items():
                rows = [[row["id"], text(row[column])] for row in found]
                yield judged(name, table, kind, {"rows": rows})
        options = after | {"hoodie.datasource.query.incremental.format": "cdc"}
        try:
            changes = lake.spark.read.format("hudi").options(**options).load(job["path"]).collect()
        except Py4JJavaError as error:
            problem = root_cause(error)
            yield from (Cell("Spark CDC", table, kind.ddl, "fails", problem) for kind in columns.values())
            continue
        for column, kind in columns.items():
            yield changed(table, column, kind, changes)


def changed(table: str, column: str, kind: ColumnType, changes: Iterable[Any]) -> Cell:
    """Compare the changes of a CDC query: the keys of each operation, and a value in each image."""
    keys: dict[str, list[int]] = {}
    for change in changes:
        images = [
            json.loads(image) for image in (change["before"], change["after"]) if image not in (None, "null")
        ]
        full = [image["id"] for image in images if image.get(column) is not None]
        keys.setdefault(change["op"], []).extend(sorted(set(full)))
    is_equal = keys == OPERATIONS
    return Cell(
        "Spark CDC", table, kind.ddl, "equal" if is_equal else "differs", "" if is_equal else f"found {keys}"
    )
