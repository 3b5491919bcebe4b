"""States that a table gets into, each written by the product's writer, with the rows that it should have."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.compile.row_model import row_model
from ingest.hudi.storage.exchange import Folders
from ingest.hudi.upkeep.rebuild import Rewrite, rewrite_copy
from ingest.tables import TableConfig, Target
from tests.hudi.conftest import VERSION, Lake, timeline_of
from tests.places.cells import text

KEY: Final = "id int not null"
ALL: Final = ("cow", "mor", "compacted")
"""Types of tables as in `matrix`."""
COW: Final = ("cow",)
OTHER_VERSION: Final = 8 if VERSION == 9 else 9
"""A JVM outside UTC writes no table of version 6."""
Rows = tuple[tuple[Any, ...], ...]
"""Changes: the operation, then a value for each column."""


@attrs.frozen
class Commit:
    """A batch of changes, with its columns as DDL."""

    ddl: str
    rows: Rows

    @property
    def types(self) -> dict[str, str]:
        """The type of each column."""
        columns = (column.split(" ", 1) for column in self.ddl.split(", "))
        return {name.strip("`"): kind for name, kind in columns}


@attrs.frozen
class State:
    """The commits that lead to a state, and the table that they are written to."""

    name: str
    commits: tuple[Commit, ...]
    tables: tuple[str, ...] = ALL
    target: Mapping[str, Any] = attrs.Factory(dict)
    keys: tuple[str, ...] = ("id",)
    hudi: Mapping[str, str] = attrs.Factory(dict)
    before: Mapping[str, Any] | None = None
    """The target before a rebuild, which comes before the last commit."""
    is_torn: bool = False
    """Whether the last commit does not complete."""

    @property
    def types(self) -> dict[str, str]:
        """The newest type of each column."""
        return {name: kind for commit in self.commits for name, kind in commit.types.items()}

    def expected(self) -> list[list[Any]]:
        """Return the rows at the end: the newest of each key."""
        keeps = row_model(Target(**self.target)).keeps_deletes
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for commit in self.commits[: -1 if self.is_torn else None]:
            for op, *values in commit.rows:
                row = dict(zip(commit.types, values, strict=True))
                key = tuple(row[name] for name in self.keys)
                if op == "d" and not keeps:
                    del rows[key]
                else:
                    rows[key] = row
        types = self.types.items()
        return [[text(as_type(kind, row.get(name))) for name, kind in types] for row in rows.values()]


def as_type(kind: str, value: Any) -> Any:
    """Return a value of a column that may have been widened."""
    return float(value) if kind == "double" and value is not None else value


def widened(was: str, wider: str, old: Any, new: Any) -> State:
    """Return the state of a column with a wider type in files from before and after."""
    first = tuple(("c", key, old) for key in range(1, 9))
    later = (("u", 2, new), ("c", 9, new))
    return State(
        f"{was} widened to {wider}",
        (Commit(f"{KEY}, v {was}", first), Commit(f"{KEY}, v {wider}", later)),
        ("cow", "mor"),
        {"buckets": 4},
    )


def parted(
    kind: str,
    values: Sequence[Any],
    title: str = "",
    tables: tuple[str, ...] = COW,
    index: str = "global_simple",
) -> Iterator[State]:
    """Yield the states of a table with a partition for each value, of which rows change, move and vanish.

    Of several columns a value is a tuple.
    """
    kinds = kind.split(", ")
    names = tuple(f"p{number}" for number in range(len(kinds)))
    columns = "".join(f", {name} {ddl}" for name, ddl in zip(names, kinds, strict=True))
    folders = [value if isinstance(value, tuple) else (value,) for value in values]
    ddl = f"{KEY}, v string{columns}"
    first = tuple(("c", key, "a", *folder) for key, folder in enumerate(folders * 6))
    later = (("u", 0, "b", *folders[0]), ("u", 1, "b", *folders[0]), ("d", 2, None, *first[2][3:]))
    for style in (False, True):
        target = {
            "partition_by": names, "index": index, "hive_style_partitions": style, "buckets": 1,
        }  # fmt: skip
        name = f"partitioned by {title or kind}{', hive-style' if style else ''}"
        yield State(name, (Commit(ddl, first), Commit(ddl, later)), tables, target)


def single(name: str, columns: Mapping[str, Sequence[Any]]) -> State:
    """Return the state of a table with values of each column, DDL first, in two commits."""
    ddl = ", ".join((KEY, *columns))
    rows = tuple(("c", key, *values) for key, values in enumerate(zip(*columns.values(), strict=True)))
    later = (*(("u", *row[1:]) for row in rows[:1]), ("c", 100, *rows[-1][2:]))
    return State(name, (Commit(ddl, rows), Commit(ddl, later)), ("cow", "mor"))


def instants(*moments: str) -> tuple[datetime, ...]:
    """Read instants in UTC."""
    return tuple(datetime.fromisoformat(moment).replace(tzinfo=UTC) for moment in moments)


def dates(*days: str) -> tuple[date, ...]:
    """Read dates."""
    return tuple(map(date.fromisoformat, days))


def numbered(count: int, columns: str, *values: Any) -> Commit:
    """Return a first commit of a number of equal rows."""
    return Commit(f"{KEY}, {columns}", tuple(("c", key, *values) for key in range(1, count + 1)))


V: Final = f"{KEY}, v string"
REBUILT: Final = (
    numbered(8, "v string", "a"),
    Commit(V, (("u", 1, "b"), ("d", 2, None))),
    Commit(V, (("u", 3, "c"),)),
)
_DELETED: Final = f"{V}, _cdc_deleted boolean"
_CHANGE: Final = "_cdc_partition int not null, _cdc_offset bigint not null, id int, v string"
_VERSIONS: Final = (
    "id int not null, _cdc_partition int not null, _cdc_offset bigint not null, v string, "
    "_cdc_valid_from timestamp not null, _cdc_valid_to timestamp, _cdc_is_current boolean not null"
)
_AT, _LATER = instants("2024-03-10T02:30:00.123456", "2024-11-03T06:30:00.000001")
_FIRST: Final = ("c", 1, 0, 0, "a", _AT, None, True)
_ODD: Final = ("a b", "a/b", "50%", "k=v", "é:漢", "it's", "[x]", "a+b", "%2F", "2024/02/29")
_NUMERIC: Final = ("007", "1.50", "2024-02-29", "true")
_NINES, _SMALL = "9" * 38, "1".zfill(38)
_WIDE: Final = "1234567890123456789012345678.0123456789"
STATES: Final = (
    State(
        "columns added, dropped and renamed",
        (
            numbered(8, "retained string, dropped string, old_name string", "a", "b", "c"),
            Commit(
                f"{KEY}, retained string, new_name string, added array<int>",
                (("u", 2, "x", "y", [1]), ("d", 3, None, None, None), ("c", 9, "x", "y", [2])),
            ),
        ),
        target={"buckets": 4},
    ),
    widened("int", "bigint", 7, 2**40),
    widened("int", "double", 7, 0.5),
    widened("decimal(9,2)", "decimal(12,2)", Decimal("-1.25"), Decimal("1234567890.25")),
    widened("decimal(9,2)", "decimal(20,2)", Decimal("-1.25"), Decimal("123456789012.25")),
    widened("decimal(9,2)", "decimal(11,4)", Decimal("-1.25"), Decimal("1.2345")),
    widened("struct<a:int>", "struct<a:int,b:string>", {"a": 1, "b": None}, {"a": 2, "b": "x"}),
    State(
        "rows deleted, some as the last of their file",
        (
            numbered(8, "v string", "a"),
            Commit(V, (("d", 1, None), ("d", 2, None), ("u", 3, "b"))),
            Commit(V, (*(("d", key, None) for key in range(3, 8)), ("c", 9, "c"))),
        ),
        target={"buckets": 8},
    ),
    State(
        "all rows deleted",
        (numbered(4, "v string", "a"), Commit(V, tuple(("d", key, None) for key in range(1, 5)))),
    ),
    State(
        "last commit without rows",
        (numbered(4, "v string", "a"), Commit(V, (("u", 1, "b"),)), Commit(V, ())),
    ),
    State(
        "last commit not completed",
        (
            numbered(4, "v string", "a"),
            Commit(V, (("u", 1, "b"),)),
            Commit(V, (("u", 2, "c"), ("c", 5, "c"))),
        ),
        ("cow", "mor"),
        is_torn=True,
    ),
    State(
        "rows deleted softly",
        (
            numbered(4, "v string, _cdc_deleted boolean", "a", False),  # noqa: FBT003
            Commit(_DELETED, (("d", 1, "a", True), ("u", 2, "b", False))),
        ),
        target={"delete": "soft"},
    ),
    *parted("string", ("north", "south"), tables=("cow", "mor")),
    *parted("string", ("north", "south"), "string, with a record index", ALL, "global_record"),
    *parted("string", _ODD, "string with signs"),
    *parted("string", _NUMERIC, "string that looks like a number, a date or a boolean"),
    *parted("string", ("north", None), "string with null"),
    *parted("int", (-1, 2147483647)),
    *parted("int", (7, None), "int with null"),
    *parted("bigint", (-1, 2**40)),
    *parted("date", dates("1969-12-31", "2024-02-29"), tables=("cow", "mor")),
    *parted("boolean", (True, False)),
    *parted("decimal(9,2)", (Decimal("-1.50"), Decimal("2.25"))),
    *parted("string, int", (("north", 1), ("south", 2)), "two columns"),
    State(
        "names with capitals, reserved words, underscores",
        (
            Commit("`Order` int not null, `select` string, `CamelCase` string, `UPPER` int, `_lead` int",
                   (("c", 1, "a", "b", 1, 1), ("c", 2, "a", "b", 1, 1))),
            Commit("`Order` int not null, `select` string, `CamelCase` string, `UPPER` int, `_lead` int",
                   (("u", 1, "c", "d", 2, 2),)),
        ),
        keys=("Order",),
    ),
    single("names of other scripts", {"`Größe` string": ("a", "b"), "`名` int": (1, 2)}),
    single(
        "dates before 1900",
        {"v date": dates("0001-01-01", "1500-02-28", "1582-10-04", "1582-10-05", "1582-10-15", "1899-12-31")},
    ),
    single(
        "timestamps before 1900",
        {
            "v timestamp": instants(
                "0001-01-01T00:00:00", "1582-10-04T23:59:59.999999", "1582-10-05T00:00:00",
                "1582-10-15T00:00:00", "1883-11-18T16:59:59.999999", "1899-12-31T23:59:59.999999",
            )
        },
    ),
    single(
        "dates and timestamps far ahead",
        {
            "d date": dates("2262-04-12", "9999-12-31"),
            "t timestamp": instants("2262-04-11T23:47:16.854776", "9999-12-31T23:59:59.999999"),
        },
    ),
    single(
        "numbers at their limits",
        {
            "f float": (math.nan, math.inf, -math.inf, -0.0),
            "d double": (math.nan, math.inf, -math.inf, 5e-324),
            "i int": (2**31 - 1, -(2**31), 0, -1),
            "b bigint": (2**63 - 1, -(2**63), 0, -1),
            "n decimal(38,0)": (Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(0), Decimal(-1)),
            "s decimal(38,38)": tuple(map(Decimal, (f"0.{_NINES}", f"-0.{_NINES}", "0", f"0.{_SMALL}"))),
            "m decimal(38,10)": tuple(map(Decimal, (_WIDE, f"-{_WIDE}", "0", "0.0000000001"))),
        },
    ),
    single(
        "texts of every length",
        {"v string": ("", "x" * 200_000, "a\0b\n\r\t", "😀 漢", "null", " ")},
    ),
    single(
        "nulls only",
        dict.fromkeys(
            ("a boolean", "b int", "c bigint", "d float", "e double", "f string", "g binary", "h date",
             "i timestamp", "j decimal(38,10)", "k array<string>", "l map<string,int>", "m struct<a:int>"),
            (None, None),
        ),
    ),
    single(
        "nulls inside",
        {
            "a array<string>": ([None], ["x", None], []),
            "m map<string,int>": ({"k": None}, {}, {"k": 1}),
            "s struct<a:int,b:array<int>>": tuple(
                {"a": number, "b": items} for number, items in ((None, None), (1, [None]), (1, []))
            ),
        },
    ),
    State(
        "cleaned and archived",
        (
            numbered(4, "v string", "a"),
            *(
                Commit(V, (("u", 1, f"{run}"), ("c", run + 3, "new"), ("d", run + 2, None)))
                for run in range(2, 10)
            ),
        ),
        ("cow", "mor"),
        hudi=Lake.SHORT_MEMORY,
    ),
    State(
        "rebuilt with other buckets and type",
        REBUILT,
        ("cow", "mor"),
        {"buckets": 3},
        before={"buckets": 2},
    ),
    State(
        "rebuilt into partitions",
        (
            numbered(8, "v string, p int", "a", 1),
            Commit(f"{V}, p int", (("u", 1, "b", 2), ("d", 2, None, None))),
            Commit(f"{V}, p int", (("u", 3, "c", 2),)),
        ),
        ("cow", "mor"),
        {"partition_by": ("p",), "index": "global_simple", "buckets": 1},
        before={"buckets": 2},
    ),
    State(
        "rebuilt from another version",
        REBUILT,
        ("cow", "mor"),
        before={"table_version": OTHER_VERSION},
    ),
    State(
        "append",
        (
            Commit(_CHANGE, (("c", 0, 0, 1, "a"), ("c", 0, 1, 2, "a"))),
            Commit(_CHANGE, (("u", 0, 2, 1, "b"), ("d", 0, 3, 2, "a"))),
        ),
        target={"mode": "append"},
        keys=("_cdc_partition", "_cdc_offset"),
    ),
    State(
        "history",
        (
            Commit(_VERSIONS, (_FIRST, ("c", 2, 0, 1, "a", _AT, None, True))),
            Commit(_VERSIONS, ((*_FIRST[:6], _LATER, False), ("u", 1, 0, 2, "b", _LATER, None, True))),
        ),
        target={"mode": "history"},
        keys=("id", "_cdc_partition", "_cdc_offset"),
    ),
)  # fmt: skip


def write(lake: Lake, state: State, table_type: str) -> dict[str, Any]:
    """Write a state; return its path and columns."""
    kind = "cow" if table_type == "cow" else "mor"
    options = {"hoodie.compact.inline.max.delta.commits": "1" if table_type == "compacted" else "9"}
    name = f"state{STATES.index(state)}_{table_type}"
    table = attrs.evolve(lake.table(name, type=kind, **state.target), hudi=options | state.hudi)
    other = "mor" if kind == "cow" else "cow"
    written = lake.table(name, **{"type": other, **state.before}) if state.before else table
    for number, commit in enumerate(state.commits):
        if state.before and number == len(state.commits) - 1:
            rebuild(lake, written, table, state.keys)
            written = table
        rows = [(op, f"{number:04}", *values) for op, *values in commit.rows]
        instant = lake.commit(written, lake.changes(commit.ddl, *rows), state.keys)
    if state.is_torn:  # the files that a run leaves which was killed just before its end
        for file in timeline_of(lake.path(table)).glob(f"*{instant}*commit*"):
            if file.name.removesuffix(".crc").endswith("commit"):
                file.unlink()
    return {"table": table_type, "state": state.name, "path": lake.path(table), "columns": [*state.types]}


def rebuild(lake: Lake, old: TableConfig, new: TableConfig, keys: tuple[str, ...]) -> None:
    """Rebuild a table by its rows."""
    stored, home = lake.open(old), Path(lake.path(old))
    last = stored.checkpoint()
    assert last is not None
    columns = [f"coalesce({name}, 0) as {name}" if name in keys else name for name in stored.rows().columns]
    rows = stored.rows().selectExpr(*columns)
    folders = Folders(home, home.parent / "_rebuild" / home.name)
    rewrite_copy(stored, Rewrite(rows, new, keys, last), folders, lambda: None)
