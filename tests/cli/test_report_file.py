"""`--report` names a local file, or one at a Hadoop path."""

from pathlib import Path

import pytest

from ingest.cli.report_file import prepare_report
from ingest.errors import UsageError


def test_a_hadoop_path_makes_no_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hdfs://…` was a folder `hdfs:` of the working folder."""
    monkeypatch.chdir(tmp_path)
    prepare_report("hdfs://nameservice/reports/run.json")
    prepare_report(None)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_local_report_is_made_before_the_run(tmp_path: Path) -> None:
    """A folder in its place, or a file as its folder, is refused then."""
    prepare_report(str(tmp_path / "out" / "run.json"))
    assert (tmp_path / "out").is_dir()
    with pytest.raises(UsageError, match="is a folder"):
        prepare_report(str(tmp_path / "out"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--report"):
        prepare_report(str(tmp_path / "file" / "run.json"))
