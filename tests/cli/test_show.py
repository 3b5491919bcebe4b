"""`ingest show`: what holds for a table, with the origin of each value."""

import json
from pathlib import Path

import pytest

from ingest.cli.app import call

SETTINGS = """\
[lake]
path = "/lake"
[defaults.target]
delete = "soft"
retain_commits = 20
[defaults.evolution]
column-dropped = "fail"
[defaults.hudi]
hoodie.cleaner.threads = 4
"""
TABLE = """\
table = "orders"
topic = "server1.inv.orders"
dialect = "postgres"
[subjects]
key = "server1.inv.orders-key"
value = "server1.inv.orders-value"
[target]
type = "cow"
delete = "hard"
[columns.total]
type = "decimal(20,4)"
"""
SHOWN = """\
key                               value                                            from
─────────────────────────────────────────────────────────────────────────────────────────────
table                             "orders"                                         file
topic                             "server1.inv.orders"                             file
dialect                           "postgres"                                       file
subjects.key                      "server1.inv.orders-key"                         file
subjects.value                    "server1.inv.orders-value"                       file
format                            "avro"                                           product
framings                          ["confluent"]                                    product
epoch                             0                                                product
key.columns                       "the columns of subject server1.inv.orders-key"  derived
key.mismatch                      "reject"                                         product
target.type                       "cow"                                            file
target.table_version              9                                                product
target.mode                       "upsert"                                         product
target.delete                     "hard"                                           file
target.index                      "bucket"                                         product
target.buckets                    2                                                product
target.first_load                 "bulk_insert"                                    product
target.retain_commits             20                                               [defaults]
target.retain_hours               0.0                                              product
target.compact_at                 0.0                                              product
target.truncate                   "apply"                                          product
types.time                        "string"                                         product
types.nanos                       "timestamp"                                      product
types.timestamps                  "ntz"                                            product
types.decimals                    "string"                                         product
types.out_of_range                "fail"                                           product
types.placeholder                 "__debezium_unavailable_value"                   product
columns.total.type                "decimal(20,4)"                                  file
evolution.column-added            "evolve"                                         product
evolution.column-dropped          "fail"                                           [defaults]
evolution.column-renamed          "evolve"                                         product
evolution.column-widened          "evolve"                                         product
evolution.column-narrowed         "fail"                                           product
evolution.column-changed          "fail"                                           product
evolution.decimal-widened         "evolve"                                         product
evolution.decimal-narrowed        "evolve"                                         product
evolution.time-precision-changed  "evolve"                                         product
evolution.enum-changed            "evolve"                                         product
evolution.meaning-changed         "evolve"                                         product
evolution.nullability-changed     "evolve"                                         product
evolution.default-changed         "evolve"                                         product
evolution.field-added             "evolve"                                         product
evolution.field-dropped           "evolve"                                         product
evolution.key-changed             "fail"                                           product
evolution.envelope-changed        "fail"                                           product
rejects.max_rows                  10000                                            product
rejects.max_share                 0.01                                             product
rejects.min_rows                  10                                               product
rejects.max_record_mb             64                                               product
rejects.too_large                 "reject"                                         product
hudi.hoodie.cleaner.threads       "4"                                              [defaults]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a deployment with defaults and one table, in the working folder."""
    (tmp_path / "ingest.toml").write_text(SETTINGS)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "orders.toml").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_values_are_shown_with_their_origin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the reference."""
    assert call(["show", "orders"]) == 0
    head, _, shown = capsys.readouterr().out.partition("\n\n")
    files = f"orders: table file {folder / 'tables' / 'orders.toml'}, rows in /lake/orders"
    assert " ".join(head.split()) == files
    assert shown == SHOWN


def test_json_has_the_same_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers and lists stay what they are."""
    assert call(["show", "orders", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["table"], shown["path"]) == ("orders", "/lake/orders")
    assert shown["file"] == str(folder / "tables" / "orders.toml")
    by_key = {value["key"]: (value["value"], value["from"]) for value in shown["values"]}
    assert by_key["target.retain_commits"] == (20, "defaults")
    assert by_key["target.delete"] == ("hard", "file")
    assert by_key["framings"] == (["confluent"], "product")
    assert by_key["key.columns"] == ("the columns of subject server1.inv.orders-key", "derived")
    assert by_key["evolution.column-dropped"] == ("fail", "defaults")
    assert "rows" not in shown


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["order"], "table 'order' does not exist"),
        (["orders", "--rows", "0"], "--rows 0: found 0; allowed: 1 or more"),
    ],
)
def test_a_wrong_call_is_refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before Spark starts."""
    assert call(["show", *arguments]) == 2
    assert says in capsys.readouterr().err
