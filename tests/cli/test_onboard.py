"""`ingest onboard` as a command, with a registry in a folder."""

from pathlib import Path

import pytest

from ingest.cli.app import call
from ingest.tables import read_all

REGISTRY = Path(__file__).parents[2] / "registry_fixtures" / "sqlserver"
TOPIC = "sqs.testDB.dbo.orders"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def test_the_readers_of_the_option_replace_those_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """The file says for whom; the next topic has the readers of the settings again."""
    Path("ingest.toml").write_text(f'[registry]\nurl = "{REGISTRY}"\n[onboard]\nreaders = ["spark"]\n')

    assert call(["onboard", TOPIC, "--readers", "trino, duckdb"]) == 0
    assert call(["onboard", "sqs.testDB.dbo.customers"]) == 0

    customers, orders = read_all(Path("tables"))
    assert (orders.target.table_version, orders.types.timestamps) == (6, "utc")
    assert (customers.target.table_version, customers.types.timestamps) == (9, "ntz")
    assert "# for the readers: trino, duckdb\n" in Path("tables/sqs_testDB_dbo_orders.toml").read_text()
    capsys.readouterr()
    assert call(["onboard", TOPIC, "--readers", "trno"]) == 2
    assert "--readers: found 'trno' (text)" in capsys.readouterr().err
