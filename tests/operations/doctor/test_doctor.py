"""`ingest doctor` finds what would stop a run, with its remedy, and starts nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest import Session
from ingest.cli.app import call
from ingest.jars.artifacts import Artifacts, find_artifacts
from ingest.operations.doctor.doctor import Checkup
from ingest.operations.doctor.machine import check_pinned_jars, parse_size
from ingest.tables import read
from tests.lakes import MadeTable

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "registry_fixtures" / "sqlserver"
TABLE = 'table = "{0}"\ntopic = "t.{0}"\ndialect = "sqlserver"\n[subjects]\nvalue = "{1}"\n'
SUBJECT = "sqs.testDB.dbo.customers-value"


BROKER_DOWN = '[kafka]\nbootstrap_servers = "127.0.0.1:1"\ntimeout_s = 5\n'


def write_deployment(folder: Path, settings: str = "", subject: str = SUBJECT) -> Path:
    """Write a deployment over a folder of schemas, by default without a broker."""
    path = folder / "ingest.toml"
    path.write_text(f'[registry]\nurl = "{FIXTURES}"\n{settings}')
    path.chmod(0o600)
    (folder / "tables").mkdir(exist_ok=True)
    (folder / "tables" / "c.toml").write_text(TABLE.format("c", subject))
    return path


def examine(path: Path) -> Checkup:
    """Examine a deployment."""
    with Session.open(path) as session:
        return session.doctor()


def found(checkup: Checkup, check: str) -> list[tuple[str, str, str]]:
    """Return the findings of a check."""
    findings = [finding for finding in checkup.findings if finding.check == check]
    return [(finding.level, finding.text, finding.todo) for finding in findings]


def test_each_part_has_a_line_and_a_problem_its_remedy(tmp_path: Path) -> None:
    """The broker is down; all other parts are well, and nothing is left in the lake."""
    (tmp_path / "lake").mkdir()
    checkup = examine(write_deployment(tmp_path, BROKER_DOWN))

    assert [finding.check for finding in checkup.findings if finding.level == "problem"] == ["broker"]
    ((_, text, todo),) = found(checkup, "broker")
    assert text.startswith("Kafka 127.0.0.1:1: ")
    assert todo.startswith("Check [kafka] bootstrap_servers")
    assert found(checkup, "lake") == [("ok", f"{tmp_path}/lake can be written, renamed and locked", "")]
    assert found(checkup, "registry")[0][0] == "ok"
    assert found(checkup, "compatibility") == [("ok", "NONE for 1 subject", "")]
    assert found(checkup, "tables") == [("ok", f"1 in {tmp_path}/tables", "")]
    assert list((tmp_path / "lake").iterdir()) == []
    assert not checkup.is_healthy


def test_databases_are_asked_with_spark_only(tmp_path: Path) -> None:
    """Their drivers run in its JVM, which the quick examination does not start."""
    source = '[sources.shop]\nurl = "jdbc:postgresql://db/shop"\n'
    ((level, text, _),) = found(examine(write_deployment(tmp_path, source)), "source")
    assert (level, "`ingest doctor --spark`" in text) == ("skipped", True)


def test_secrets_that_every_user_can_read_are_a_problem(tmp_path: Path) -> None:
    """In the settings file, in a file that it names, and a private key; each with its command."""
    settings = """
        [kafka.properties]
        "sasl.password" = { file = "password" }
        "ssl.key.location" = "%s/key.pem"
    """
    path = write_deployment(tmp_path, settings % tmp_path)
    for name in ("password", "key.pem"):
        (tmp_path / name).write_text("s3cret")
        (tmp_path / name).chmod(0o644)
    assert [todo for _, _, todo in found(examine(path), "secrets")] == [
        f"Run `chmod o-r {tmp_path}/key.pem`", f"Run `chmod o-r {tmp_path}/password`",
    ]  # fmt: skip
    for name in ("password", "key.pem"):
        (tmp_path / name).chmod(0o600)
    assert [level for level, _, _ in found(examine(path), "secrets")] == ["ok"]


def test_a_commit_ahead_of_the_clock_is_a_problem(tmp_path: Path) -> None:
    """As one of a zone east of UTC is: no reader would see the next commit."""
    path = write_deployment(tmp_path)
    table = MadeTable(tmp_path / "lake" / "c", read(tmp_path / "tables" / "c.toml"))
    timeline = table.folder / ".hoodie" / "timeline"
    (timeline / "20240101000000000_20240101000001000.commit").touch()
    assert [level for level, _, _ in found(examine(path), "clock")] == ["ok"]
    (timeline / "20980101000000000_20980101000001000.commit").touch()
    ((level, text, todo),) = found(examine(path), "clock")
    assert (level, "20980101000000000" in text, "Correct the clock" in todo) == ("problem", True, True)


def test_a_lake_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    """Here a file is in its place."""
    path = write_deployment(tmp_path)
    (tmp_path / "lake").write_text("a file")
    ((level, text, _),) = found(examine(path), "lake")
    assert (level, text) == ("problem", f"{tmp_path}/lake: Not a directory")


def test_jars_subjects_and_memory_that_do_not_suffice_are_problems(tmp_path: Path) -> None:
    """Each names what is missing."""
    (tmp_path / "jars").mkdir()
    settings = '[spark]\njars = "jars"\n[spark.conf]\n"spark.driver.memory" = "900t"\n'
    checkup = examine(write_deployment(tmp_path, settings, subject="sqs.testDB.dbo.custmers-value"))

    ((_, jars, _),) = found(checkup, "jars")
    assert jars.startswith(f"{tmp_path}/jars lacks hudi-spark3.5-bundle, ")
    assert "does not have sqs.testDB.dbo.custmers-value" in found(checkup, "registry")[1][1]
    ((level, memory, _),) = found(checkup, "memory")
    assert (level, memory.startswith("921600.0 GiB for Spark's driver")) == ("problem", True)


def test_jars_that_are_not_fetched_yet_are_a_warning_that_names_size_and_repository(tmp_path: Path) -> None:
    """In an installed package the first run fetches them, without Maven; nothing is fetched here."""
    own = find_artifacts().functions_jar
    installed = Artifacts(tmp_path / "cache", own)
    (finding,) = check_pinned_jars(installed, "https://ann:s3cret@mirror.example.com/maven")
    assert finding.level == "warning"
    assert finding.text == (
        "6 are not fetched yet: the first run gets 86.6 MB from https://***@mirror.example.com/maven"
    )
    assert finding.todo == "Run `ingest jars fetch`"
    checkout = Artifacts(tmp_path / "jars", own, tmp_path)
    assert [finding.todo for finding in check_pinned_jars(checkout, "")] == ["Run `make jars`"]
    assert list(tmp_path.iterdir()) == []


def test_settings_with_errors_are_examined_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every problem is a finding, of the table files too, and the machine is examined."""
    (tmp_path / "ingest.toml").write_text("[registry]\nulr = 1\nretries = 'x'\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "broken.toml").write_text("half a fi")

    assert call(["doctor", "--json"]) == 1

    result = json.loads(capsys.readouterr().out)
    assert result["outcome"] == "problems"
    settings = [check["text"] for check in result["checks"] if check["check"] == "settings"]
    assert [text.partition(": ")[0] for text in settings] == [f"{tmp_path}/ingest.toml:{n}" for n in (2, 3)]
    tables = [check["text"] for check in result["checks"] if check["check"] == "tables"]
    assert [text.partition(": ")[0] for text in tables] == [f"{tmp_path}/tables/broken.toml"]
    assert {check["check"] for check in result["checks"]} >= {"java", "pyspark", "jars", "memory", "disk"}


def test_the_examination_loads_no_spark(tmp_path: Path) -> None:
    """It must say something where pyspark is broken, and it is quick."""
    path = write_deployment(tmp_path)
    code = (
        "import sys; from ingest.cli.app import call; "
        f"code = call(['doctor', '--settings', '{path}']); print('pyspark.sql' in sys.modules, code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False 1", done.stdout + done.stderr
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert " findings: " in done.stdout


def test_packages_without_bytecode_are_a_warning(tmp_path: Path) -> None:
    """As uv installs them, where Python cannot write it or must not; where it can, there is none."""
    path = write_deployment(tmp_path)
    command = [sys.executable, "-m", "ingest", "doctor", "--json", "--settings", str(path)]
    own = {"PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"), "PYTHONDONTWRITEBYTECODE": "1"}

    def state() -> tuple[str, bool]:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **own})
        checks = json.loads(done.stdout)["checks"]
        (check,) = (check for check in checks if check["check"] == "bytecode")
        return check["state"], f"{sys.executable} -m compileall -q " in check["todo"]

    assert state() == ("warning", True)
    own["PYTHONDONTWRITEBYTECODE"] = ""
    assert state() == ("ok", False)


@pytest.mark.parametrize(
    ("text", "size"), [("2g", 2 << 30), ("512m", 512 << 20), ("1024", 1 << 30), ("1TB", 1 << 40), ("x", None)]
)
def test_sizes_are_read_as_spark_reads_them(text: str, size: int | None) -> None:
    """MiB without a unit."""
    assert parse_size(text) == size
