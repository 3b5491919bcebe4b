"""The values that keys and partition folders can hold, shown on real tables."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest.hudi.keys import unsafe_key_change, unsafe_key_type, unsafe_partition_type, unsafe_texts
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.upkeep.maintain import maintain
from ingest.sql.template import ident

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

VALUES = {
    "int": ["-1", "0", "2147483647"],
    "bigint": ["-1", "9223372036854775807"],
    "string": ["'a'", "'A'", "'a,b:c'", "'__null__'", "' '", "'é/x'"],
    "boolean": ["true", "false"],
    "date": ["'0001-01-01'", "'1969-12-31'", "'2024-02-29'"],
    "decimal(38,10)": ["0", "0.0000000001", "-1.1", "1234567890123456789012345678.0123456789"],
    "timestamp_ntz": [
        "'1700-01-01 00:00:00'",
        "'2024-03-10 02:30:00.123456'",
        "'2024-03-10 02:30:00.123457'",
    ],
    # The same wall clock twice in the process's zone, and two instants in one millisecond.
    "timestamp": [
        "'1991-09-14 15:30:00Z'",
        "'1991-09-14 16:30:00Z'",
        "'2024-03-10 02:30:00.123456Z'",
        "'2024-03-10 02:30:00.123457Z'",
    ],
    "binary": ["X'00'", "X'0001'", "X'FF'", "X'FE'", "X''||X'61'"],
}


def batch(spark: SparkSession, ddl: str, position: str, *, first_op: str = "u") -> DataFrame:
    """Make a batch with every value of a type as a key; the first may be a delete."""
    values = ", ".join(f"({at}, cast({value} as {ddl}))" for at, value in enumerate(VALUES[ddl]))
    op = f"if(at = 0, '{first_op}', 'u')"
    return spark.sql(
        f"select {op} _cdc_op, '{position}' _cdc_position, id, at, 'x' p from values {values} as t(at, id)"
    )


@pytest.mark.spark
@pytest.mark.parametrize("ddl", VALUES)
def test_a_key_of_every_safe_type_finds_its_row_again(lake: "Lake", ddl: str) -> None:
    """Values stay apart, an update hits its own row, a delete removes its own."""
    assert unsafe_key_type(ddl) is None
    table = lake.table("keys", buckets=1)
    lake.commit(table, batch(lake.spark, ddl, "1"))
    lake.commit(table, batch(lake.spark, ddl, "2", first_op="d"))

    expected = [(row.at, row.id, "2") for row in batch(lake.spark, ddl, "2").collect()[1:]]
    assert lake.rows(table, "at", "id", "_cdc_position") == expected


@pytest.mark.spark
@pytest.mark.parametrize("ddl", ["timestamp", "binary", "int"])
def test_a_first_load_into_partitions_writes_the_keys_that_upserts_look_for(lake: "Lake", ddl: str) -> None:
    """Hudi's row writer is off there."""
    table = lake.table("bulk", index="global_simple", partition_by=("p",))
    lake.commit(table, batch(lake.spark, ddl, "1"))
    lake.commit(table, batch(lake.spark, ddl, "2"))

    assert lake.rows(table, "at", "_cdc_position") == [(at, "2") for at in range(len(VALUES[ddl]))]


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cow", pytest.param("mor", marks=pytest.mark.pairs)])
@pytest.mark.parametrize("ddl", VALUES)
@pytest.mark.parametrize("keys", [("id",), pytest.param(("id", "at"), marks=pytest.mark.pairs)])
def test_both_first_loads_write_the_same_keys(
    lake: "Lake", keys: tuple[str, ...], ddl: str, kind: str
) -> None:
    """By the row writer where the key's type allows it."""
    key_sets = []
    for first_load in ("upsert", "bulk_insert"):
        table = lake.table(first_load, type=kind, first_load=first_load)
        lake.commit(table, batch(lake.spark, ddl, "1"), keys)
        lake.commit(table, batch(lake.spark, ddl, "2"), keys)
        assert lake.rows(table, "at", "_cdc_position") == [(at, "2") for at in range(len(VALUES[ddl]))]
        key_sets.append(lake.rows(table, "_hoodie_record_key", "at"))
    assert key_sets[0] == key_sets[1]


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("loaded", ["", "a"])
def test_an_empty_text_in_a_key_of_several_columns_finds_its_row_again(
    lake: "Lake", kind: str, loaded: str
) -> None:
    """Hudi refuses it in Spark's rows: the write is repeated with Avro records, in a first load and later."""
    table = lake.table("empty_parts", type=kind, buckets=1)
    ddl = "a string not null, b string not null, v int"
    lake.commit(table, lake.changes(ddl, ("c", "1", loaded, "x", 1), ("c", "1", "b", "x", 2)), ("a", "b"))
    lake.commit(table, lake.changes(ddl, ("c", "2", "", "y", 3), ("u", "2", loaded, "x", 4)), ("a", "b"))
    lake.commit(table, lake.changes(ddl, ("u", "3", "", "y", 5), ("d", "3", "b", "x", None)), ("a", "b"))
    timeline = lake.open(table).client.getActiveTimeline()  # type: ignore[union-attr]
    assert timeline.getRollbackTimeline().countInstants() == 1, "one write was repeated"
    maintain(lake.open(table), table)

    assert lake.rows(table, "a", "b", "v") == sorted([("", "y", 5), (loaded, "x", 4)])
    assert ("a:__empty__,b:y",) in lake.rows(table, "_hoodie_record_key")


@pytest.mark.spark
@pytest.mark.parametrize(("old", "new"), [("int", "bigint"), ("decimal(9,2)", "decimal(19,2)")])
def test_a_safe_widening_of_the_key_keeps_the_rows(lake: "Lake", old: str, new: str) -> None:
    """The key's text stays the same, so that updates and deletes still hit."""
    assert unsafe_key_change(old, new) is None
    table = lake.table("widened")
    row = "select '{0}' _cdc_op, '{1}' _cdc_position, cast({2} as {3}) id, '{1}' v"
    both = row.format("c", "1", "1.0", old) + " union all " + row.format("c", "1", "2", old)
    lake.commit(table, lake.spark.sql(both))
    lake.commit(
        table,
        lake.spark.sql(row.format("u", "2", "1", new) + " union all " + row.format("d", "2", "2", new)),
    )

    assert lake.rows(table, "v") == [("2",)]


@pytest.mark.parametrize(
    ("present", "incoming"),
    [("int", "double"), ("float", "double"), ("decimal(9,2)", "decimal(19,4)"), ("int", "decimal(10,0)")],
)
def test_a_widening_that_changes_the_keys_text_is_named(present: str, incoming: str) -> None:
    """Hudi would take it, and hold every row twice."""
    assert "doubled" in (unsafe_key_change(present, incoming) or "")


@pytest.mark.parametrize(
    "ddl", ["float", "double", "smallint", "array<int>", "struct<a:int>", "map<string,int>"]
)
def test_a_type_that_cannot_be_a_key_is_named(ddl: str) -> None:
    """The reason is a sentence for the user."""
    assert unsafe_key_type(ddl)


@pytest.mark.parametrize("ddl", ["timestamp", "timestamp_ntz", "binary", "double"])
def test_a_type_that_cannot_partition_is_named(ddl: str) -> None:
    """Hudi reads these back wrongly from the folder's name."""
    assert unsafe_partition_type(ddl)
    assert unsafe_partition_type("date") is None


@pytest.mark.spark
def test_keys_that_hudi_would_lose_or_mix_up_are_named(spark: SparkSession) -> None:
    """Every bad value gets its reason, every good one null."""
    rows = [
        ("a", "b", None),
        ("", "b", None),
        ("1", "2,b:3", None),
        ("", "", "the key is an empty text"),
        ("__empty__", "b", "key column a holds Hudi's sign"),
        ("1,b:2", "3", "key column a holds ',b:'"),
        ("a", "..", "partition column b"),
        ("a", "", "partition column b"),
    ]
    frame = spark.createDataFrame([row[:2] for row in rows], "a string, b string")
    plain, parted = (
        frame.selectExpr(
            "case "
            + " ".join(
                f"""when {bad} then "{why}" """
                for bad, why in unsafe_texts({"a": "string", "b": "string"}, ident, partition_by)
            )
            + " end as why"
        ).collect()
        for partition_by in ((), ("b",))
    )

    results = [
        (parted if (row[2] or "").startswith("partition") else plain)[at].why for at, row in enumerate(rows)
    ]
    assert [why is None for why in results] == [row[2] is None for row in rows]
    assert all((why or "").startswith(row[2] or "") for why, row in zip(results, rows, strict=True))


@pytest.mark.spark
@pytest.mark.parametrize("hive_style", [False, True])
def test_texts_of_every_kind_come_back_from_partition_folders(lake: "Lake", *, hive_style: bool) -> None:
    """Slash, colon, percent, equals, dots inside, blanks and null survive as partition values."""
    table = lake.table(
        "folders", index="global_simple", partition_by=("p",), hive_style_partitions=hive_style
    )
    texts = [
        "b/c",
        "a:b",
        "a%2Fb",
        "a b",
        "é",
        "k=v",
        "007",
        "2024-01-01",
        "#?*[]{}",
        "a\\b",
        ".x",
        "_x",
        None,
    ]
    expected = [(number, text) for number, text in enumerate(texts)]
    lake.commit(table, lake.changes("id int not null, p string", *(("c", "1", *row) for row in expected)))
    lake.commit(table, lake.changes("id int not null, p string", *(("u", "2", *row) for row in expected)))

    assert [tuple(row) for row in lake.frame(table).select("id", "p").orderBy("id").collect()] == expected
    folders = {path.name for path in Path(lake.path(table)).iterdir() if path.name != ".hoodie"}
    assert all(name.startswith("p=") == hive_style for name in folders if not name.startswith("."))


PARTITION_VALUES: dict[str, list[Any]] = {
    "int": [-1, 0, 7, None],
    "bigint": [-(1 << 40), 1 << 40, None],
    "string": ["007", "2026-11-20", "p=1", "a/b", None],
    "boolean": [True, False, None],
    "date": [date(2026, 11, 20), date(1969, 12, 31), date(1200, 1, 1), None],
    "decimal(9,2)": [Decimal("-1.50"), Decimal("0.00"), Decimal("12345.67"), None],
}


@pytest.mark.spark
def test_a_default_session_reads_the_values_of_hive_style_folders(
    lake: "Lake", outer_spark: SparkSession
) -> None:
    """Each type of a partition alone, and two together, through updates, a delete and a compaction."""
    parts = {f"p{number}": ddl for number, ddl in enumerate(PARTITION_VALUES)}
    tables = {name: (name,) for name in parts} | {"two": ("p4", "p2")}
    rows = [
        tuple(values[number % len(values)] for values in PARTITION_VALUES.values()) for number in range(20)
    ]
    ddl = ", ".join(["id int not null", "v int", *(f"{name} {kind}" for name, kind in parts.items())])
    for name, partition_by in tables.items():
        table = lake.table(
            f"hive_{name}", type="mor", index="global_simple", partition_by=partition_by,
            hive_style_partitions=True,
        )  # fmt: skip
        lake.commit(table, lake.changes(ddl, *(("c", "1", at, 1, *row) for at, row in enumerate(rows))))
        lake.commit(table, lake.changes(ddl, *(("u", "2", at, 2, *row) for at, row in enumerate(rows[:12]))))
        lake.commit(table, lake.changes(ddl, ("d", "3", 0, None, *rows[0])))
        expected = [(at, 2 if at < 12 else 1, *row) for at, row in enumerate(rows)][1:]
        for step in ("logs", "compacted"):
            plain = outer_spark.read.format("hudi").load(lake.path(table)).select("id", "v", *parts)
            assert [tuple(row) for row in plain.orderBy("id").collect()] == expected, (name, step)
            maintain(lake.open(table), table)
        first = next(Path(lake.path(table)).rglob("*.parquet")).relative_to(lake.path(table))
        assert [part.split("=")[0] for part in first.parts[:-1]] == list(partition_by)
        offline = OfflineTable(lake.path(table), lake.hadoop)
        assert (offline.count_rows(), offline.timeline and offline.timeline.properties.hive_style) == (
            19,
            True,
        )
