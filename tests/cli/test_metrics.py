"""Where the metrics of a run go: reported before, and by a line if they cannot be written."""

from pathlib import Path

import pytest

from ingest.api.session import Session
from ingest.cli.app import call
from ingest.cli.metrics import check_target, publish_failure, publish_or_warn
from ingest.errors import BrokerUnreachableError, UsageError
from ingest.report.outcome import RunReport
from ingest.settings import Settings
from tests.report.test_openmetrics import REPORT, values

TABLE = 'table = "{0}"\ntopic = "s.{0}"\ndialect = "sqlserver"\n[subjects]\nvalue = "s.{0}-value"\n'


def test_a_run_that_fails_as_a_whole_is_reported_for_each_of_its_tables(tmp_path: Path) -> None:
    """The broker is down: there is no report, but the dashboards turn red."""
    for name in ("customers", "orders"):
        (tmp_path / f"{name}.toml").write_text(TABLE.format(name))
    target = tmp_path / "m.prom"
    session = Session(Settings(tables_dir=tmp_path))
    with pytest.raises(BrokerUnreachableError), publish_failure(str(target), session, ["orders"]):
        raise BrokerUnreachableError("b:9092", "gone")

    result = values(target.read_text())
    shown = {dict(labels)["table"]: dict(labels)["outcome"] for (_, labels), item in result.items()
             if item == 1 and "table" in dict(labels)}  # fmt: skip
    assert shown == {"orders": "temporary"}
    assert result["ingest_run_outcome", (("outcome", "temporary"),)] == 1


def test_a_run_without_a_place_for_metrics_writes_none(tmp_path: Path) -> None:
    """Nothing is imported, nothing is made."""
    publish_or_warn("", REPORT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["{}/file/m.prom", "http://ann:s3cret@127.0.0.1:1/metrics/job/a"])
def test_metrics_that_cannot_be_written_are_a_warning(
    tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, without the password; the commits stay."""
    (tmp_path / "file").touch()
    publish_or_warn(target.format(tmp_path), RunReport("r", REPORT.started_at, REPORT.finished_at, ()))
    explained = capsys.readouterr().err
    assert explained.startswith("ingest: warning: metrics were not written to ")
    assert explained.count("\n") == 1
    assert "s3cret" not in explained


def test_a_url_without_a_group_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and no Spark is started for it; the same for a bound that is not a lag."""
    monkeypatch.chdir(tmp_path)
    assert call(["run", "--metrics", "http://ann:s3cret@gateway:9091/"]) == 2
    assert call(["status", "--max-lag", "soon"]) == 2
    explained = capsys.readouterr().err
    assert "metrics http://***@gateway:9091/: not a group of a Pushgateway" in explained
    assert "--max-lag soon: not a valid lag" in explained
    assert "s3cret" not in explained


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("no/such/ingest.prom", "the folder no/such does not exist"),
        ("no/such/", "the folder no/such does not exist"),
        ("file/ingest.prom", "the folder file is not a folder"),
        ("htp://gateway:9091/metrics/job/a", "not a path and not an http(s) URL"),
    ],
)
def test_a_misspelled_target_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, problem: str
) -> None:
    """Exit code 2; a folder that no collector reads would not be missed for weeks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        check_target(target)
    assert problem in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_target_whose_folder_exists_is_accepted(tmp_path: Path) -> None:
    """A file of that folder, the folder itself, an empty target, and a Pushgateway's group."""
    for target in (f"{tmp_path}/m.prom", str(tmp_path), f"{tmp_path}/", "", "http://g:9091/metrics/job/a"):
        check_target(target)
