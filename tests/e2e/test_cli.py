"""The command line as a user runs it: a process, its output, its exit code, its files."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.cli.app import call
from ingest.local.servers import Addresses
from ingest.testing import key_schema, nullable
from tests.e2e.deployment import LIGHT_JVM
from tests.e2e.events import Change, Topic, envelope_schema, make_topics
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
JARS = ROOT / "jars" / "lib"
COMMANDS = (
    ["onboard"], ["plan"], ["run"], ["status"], ["schema", "show"], ["schema", "diff"],
    ["schema", "versions"], ["schema", "check"], ["check"], ["pages"], ["commits"], ["offsets", "set"],
    ["rejects", "list"], ["rejects", "show"], ["rejects", "replay"], ["rejects", "purge"],
    ["signal", "execute-snapshot"], ["signal", "stop-snapshot"],
    ["local", "up"], ["local", "down"], ["local", "status"], ["local", "produce"],
    ["completion"], ["doctor"], ["init"], ["jars", "fetch"], ["jars", "list"],
)  # fmt: skip
COLUMNS = {"id": "int", "v": nullable("string")}
REPORT_KEYS = {"run_id", "started_at", "finished_at", "outcome", "step_seconds", "tables"}
TABLE_KEYS = {
    *("table", "outcome", "instant", "topic", "offsets", "read", "applied", "superseded", "ignored"),
    *("rejected", "schema_ids", "schema_changes", "max_source_ts", "seconds", "step_seconds", "metrics"),
    "error",
}  # fmt: skip


@attrs.frozen
class Shell:
    """Runs commands in a folder."""

    folder: Path

    def __call__(self, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `ingest`, and check its exit code."""
        return self.run([sys.executable, "-m", "ingest", *command], code)

    def run(self, command: Sequence[str], code: int) -> subprocess.CompletedProcess[str]:
        """Run any command, without `ingest` variables of the caller's environment."""
        environment = {key: text for key, text in os.environ.items() if not key.startswith("INGEST_")}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"  # as activated
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done


@pytest.fixture
def ingest(tmp_path: Path) -> Shell:
    """Return a shell in an empty folder."""
    return Shell(tmp_path)


# --- without servers ---------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, and remove `ingest` variables of the caller's environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("INGEST_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_an_example_and_fits(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Every command's help has a usage line and an example, in 100 columns."""
    assert call([*command, "--help"]) == 0

    shown = capsys.readouterr().out
    assert f"Example: ingest {' '.join(command)}" in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_the_command_line_starts_light() -> None:
    """Help and usage errors import neither Spark nor Kafka nor rich's tables."""
    script = "import sys, ingest.cli.app; print([m for m in sys.argv[1:] if m in sys.modules])"
    libraries = ["pyspark", "confluent_kafka", "rich", "structlog", "cattrs"]
    heavy = [*libraries, "ingest.run.task", "ingest.api.session"]

    done = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonsense", 'Unknown command "nonsense"'),
        ("run --bogus", "Unknown option: --bogus. See `ingest run --help`."),
        ("run --max-offsets many", "--max-offsets"),
        ("run --max-offsets 0", "--max-offsets"),
        ("run --report .", "--report .: is a folder"),
        ("onboard", "needs a pattern"),
        ("schema show s-value --settings x.toml", "x.toml: is not a file"),
        ("schema show s-value", "registry.url: is not set"),
    ],
)
def test_a_usage_error_is_one_line(
    here: Path, line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, nothing on standard output, no traceback."""
    assert here.is_dir()
    assert call(line.split()) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("ingest: ")
    assert words in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[registry]\nurll = 'x'\n", "ingest.toml:2: registry.urll: "),
        ("[run]\nparallel_tables = 'x'\n", "ingest.toml:2: run.parallel_tables: "),
        ("[", "ingest.toml: not TOML"),
    ],
)
def test_wrong_settings_are_named_by_file_and_key(
    here: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, before any request."""
    (here / "ingest.toml").write_text(text)

    assert call(["schema", "show", "s-value"]) == 2
    assert words in capsys.readouterr().err


def test_a_wrong_table_file_is_named_with_its_keys(ingest: Shell) -> None:
    """A run stops before Spark starts: exit code 2."""
    (ingest.folder / "tables").mkdir()
    (ingest.folder / "tables" / "t.toml").write_text('table = "t"\ntopic = "t"\ncolour = 1\n')

    done = ingest("run", code=2)

    assert "tables/t.toml: dialect: is missing" in done.stderr
    assert "tables/t.toml:3: colour: unknown key" in done.stderr
    assert done.stderr.count("\n") == 2


def test_a_traceback_needs_debug(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --debug the same line follows it; an unexpected error is one line too."""
    assert call(["schema", "show", "s-value"]) == 2
    usual = capsys.readouterr().err
    assert call(["schema", "show", "s-value", "--debug"]) == 2
    debug = capsys.readouterr().err
    assert "Traceback" not in usual
    assert debug.startswith("Traceback")
    assert debug.endswith(usual)

    schemas = {"key": key_schema("s.t", {"id": "int"}), "value": envelope_schema("s.t", COLUMNS)}
    for part, schema in schemas.items():
        (here / "registry" / f"s.t-{part}").mkdir(parents=True)
        (here / "registry" / f"s.t-{part}" / "v1.avsc").write_text(json.dumps(schema))
    (here / "file").touch()
    assert call(["onboard", "*", "--registry", "registry", "--tables", "file"]) == 1
    surprise = capsys.readouterr().err
    assert surprise.startswith("ingest: FileExistsError: ")
    assert surprise.count("\n") == 1


@pytest.mark.servers
def test_an_address_out_of_reach_is_temporary(ingest: Shell) -> None:
    """Exit code 75, and one line that names the address."""
    done = ingest("onboard", "*", "--registry", "http://127.0.0.1:1", code=75)

    assert done.stderr.startswith("ingest: registry http://127.0.0.1:1: ")
    assert done.stderr.count("\n") == 1


# --- a deployment ------------------------------------------------------------------------------


@pytest.fixture
def topics(ingest: Shell, servers: Addresses, request: pytest.FixtureRequest) -> dict[str, Topic]:
    """Write settings, and fill two topics: 60 changes of customers, one of orders."""
    (ingest.folder / "ingest.toml").write_text(
        f'[registry]\nurl = "{servers.registry_url}"\n'
        f'[kafka]\nbootstrap_servers = "{servers.bootstrap_servers}"\n'
        f'[spark]\nmaster = "local[2]"\n{LIGHT_JVM}'
    )
    prefix = f"cli{abs(hash(request.node.name))}.testDB.dbo"
    topics_by_name = make_topics(servers, {f"{prefix}.{name}": COLUMNS for name in ("customers", "orders")})
    topics_by_name["customers"].send(*(Change("c", {"id": i, "v": "ä"}, at=i) for i in range(60)))
    topics_by_name["orders"].send(Change("c", {"id": 1, "v": "b"}, at=1))
    return topics_by_name


def files(folder: Path) -> dict[str, str]:
    """Read the table files."""
    return {path.name: path.read_text() for path in (folder / "tables").glob("*")}


@pytest.mark.servers
def test_onboarding_keeps_edits(ingest: Shell, topics: dict[str, Topic]) -> None:
    """A dry run writes nothing, a second run changes nothing; schemas print as JSON."""
    pattern = topics["customers"].name.replace("customers", "*")
    command = ("onboard", pattern, "--name", "{table}")

    dry = ingest(*command, "--dry-run").stdout
    assert "customers" in dry
    assert not (ingest.folder / "tables").exists()
    assert {entry["state"] for entry in json.loads(ingest(*command, "--json").stdout)} == {"new"}
    path = ingest.folder / "tables" / "customers.toml"
    path.write_text(path.read_text().replace("buckets = 2", "buckets = 1 # small"))
    before = files(ingest.folder)

    again = json.loads(ingest(*command, "--json").stdout)

    assert {entry["table"]: (entry["state"], entry["key"]) for entry in again} == {
        "customers": ("unchanged", ["id"]),
        "orders": ("unchanged", ["id"]),
    }
    assert files(ingest.folder) == before
    shown = json.loads(ingest("schema", "show", f"{topics['orders'].name}-value", "--json").stdout)
    assert (shown["subject"], shown["version"]) == (f"{topics['orders'].name}-value", 1)
    assert [(entry["name"], entry["spark"]) for entry in shown["columns"]] == [("id", "int"), ("v", "string")]
    missing = ingest("onboard", "nowhere.*", code=2).stderr
    assert "nowhere.*" in missing


def identity(table: dict[str, Any]) -> bool:
    """Return whether the counts of a report add up to the messages read."""
    applied = table["applied"]["upserted"] + table["applied"]["deleted"]
    return bool(
        table["read"] == applied + table["superseded"] + sum(table["ignored"].values()) + table["rejected"]
    )


@pytest.mark.spark
@pytest.mark.servers
def test_a_run_reports_its_result(ingest: Shell, topics: dict[str, Topic]) -> None:
    """Standard output and the file hold the report; the next run prints text and is idle; status agrees."""
    ingest("onboard", topics["customers"].name.replace("customers", "*"), "--name", "{table}")

    done = ingest("run", "--max-offsets", "50", "--report", "out/r.json", "--json")

    report = json.loads(done.stdout)
    assert report == json.loads((ingest.folder / "out" / "r.json").read_text())
    assert report.keys() == REPORT_KEYS
    assert report["outcome"] == "done"
    customers, orders = report["tables"]
    assert customers.keys() == orders.keys() == TABLE_KEYS
    assert customers["offsets"] == {"from": {"0": 0}, "to": {"0": 50}}
    assert customers["schema_ids"] == [topics["customers"].last_id]
    assert customers["max_source_ts"] == "2023-11-14T22:14:09Z"
    assert identity(customers)
    # A slow machine logs that it is at work.
    assert [line for line in done.stderr.splitlines() if '"at work"' not in line] == []

    text = ingest("run", "--report", "r2.json").stdout
    assert "1 committed, 1 idle" in text
    assert max(len(line) for line in text.splitlines()) <= 100
    second = {
        table["table"]: table for table in json.loads((ingest.folder / "r2.json").read_text())["tables"]
    }
    assert (second["customers"]["read"], second["orders"]["outcome"]) == (10, "idle")
    assert all(table.keys() == TABLE_KEYS and identity(table) for table in second.values())

    status = {table["table"]: table for table in json.loads(ingest("status", "--json").stdout)}
    for name, table in second.items():
        assert (status[name]["lag"], status[name]["offsets"]) == (0, table["offsets"]["to"])
    assert status["customers"]["instant"] == second["customers"]["instant"]


@pytest.mark.pairs  # tests/e2e/test_cluster.py submits, too
@pytest.mark.spark
@pytest.mark.servers
def test_spark_submit_runs_the_same(ingest: Shell, topics: dict[str, Topic]) -> None:
    """The application file takes the same arguments; a failing table gives the same exit code."""
    ingest("onboard", topics["customers"].name.replace("customers", "*"), "--name", "{table}")
    orders_file = ingest.folder / "tables" / "orders.toml"
    orders_file.write_text(f"{orders_file.read_text()}\n[rejects]\nmax_rows = 0\n")
    topics["orders"].produce([(None, b"\7")])
    submit = [
        "spark-submit",
        *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
        *("--jars", ",".join(str(jar) for jar in sorted(JARS.glob("*.jar")))),
        str(ROOT / "ingest" / "__main__.py"),
    ]

    ingest.run([*submit, "run", "--report", "r.json"], 1)

    report = json.loads((ingest.folder / "r.json").read_text())
    customers, orders = report["tables"]
    assert (customers["outcome"], customers["applied"]["upserted"]) == ("committed", 60)
    assert (orders["outcome"], orders["rejected"]) == ("failed", 1)
    assert f"{topics['orders'].name}-0-1: value: magic byte 0x07" in orders["error"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_a_signal_before_the_first_table_has_its_exit_code(
    here: Path, number: signal.Signals, code: int
) -> None:
    """A scheduler's SIGTERM is temporary at any time, Ctrl-C is 130; here a table file hangs."""
    (here / "tables").mkdir()
    os.mkfifo(here / "tables" / "t.toml")
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", "run"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    until = time.monotonic() + PATIENCE_S
    while "wait_for_partner" not in Path(f"/proc/{process.pid}/wchan").read_text():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(number)

    assert "Traceback" not in process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == code
