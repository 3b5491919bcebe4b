"""The metrics of a run, read by independent parsers and by a server in the gateway's place."""

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import structlog
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_classic

from ingest import log
from ingest.errors import BrokerUnreachableError, IngestError, TopicNotFoundError, UsageError
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.names import Instant, Topic
from ingest.operations.status.health import health, parse_bound
from ingest.operations.status.status import TableStatus
from ingest.order.batch_counts import BatchCounts
from ingest.report.contract import StepSeconds
from ingest.report.lag import Measures
from ingest.report.openmetrics import parse_gateway, publish
from ingest.report.outcome import RunReport, TableOutcome, failed
from ingest.run.measure import log_run, log_table

START = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
COUNTS = BatchCounts(
    upserted=900, deleted=40, superseded=250, ignored={"tombstone": 7, "heartbeat": 3}, rejected=2
)
GOOD = TableOutcome(
    "orders", Topic("s.orders"), "committed", counts=COUNTS, seconds=3.25,
    measures=Measures(1.5, 100, 90.5, START, START - timedelta(seconds=90), 5),
    steps=StepSeconds(plan=0.25, read=1.5, write=1.25, upkeep=0.25),
)  # fmt: skip
BAD = failed("customers", Topic("s.customers"), BrokerUnreachableError("b:9092", "gone"), 0.5)
REPORT = RunReport("r1", START, START + timedelta(seconds=4), (GOOD, BAD), StepSeconds(start=0.5, read=3))

STEPS = ("start", "plan", "read", "write", "upkeep")
Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def values(text: str) -> Values:
    """Read a text by the strict parser of OpenMetrics, and make sure that the older one reads the same."""
    strict = [sample for family in read_openmetrics(text) for sample in family.samples]
    lax = [sample for family in read_classic(text) for sample in family.samples]
    assert [item[:3] for item in strict] == [item[:3] for item in lax]
    assert all(sample.timestamp is None for sample in strict)  # node_exporter refuses those
    return {(item.name, tuple(sorted(item.labels.items()))): item.value for item in strict}


def of(found: Values, name: str, **labels: str) -> float | None:
    """Find one value."""
    return found.get((name, tuple(sorted(labels.items()))))


def test_a_file_tells_of_every_table_and_of_the_run(tmp_path: Path) -> None:
    """What became of messages, how far the table is, when it had its last commit, what waits for a person."""
    path = tmp_path / "textfile" / "ingest.prom"
    publish(REPORT, str(path))
    result = values(path.read_text())

    became = {"upserted": 900, "deleted": 40, "superseded": 250, "ignored": 10, "rejected": 2}
    assert {
        item: of(result, "ingest_table_messages", table="orders", result=item) for item in became
    } == became
    explained = {
        "duration_seconds": 3.25,
        "commit_duration_seconds": 1.5,
        "lag_offsets": 100,
        "lag_seconds": 90.5,
        "last_commit_timestamp_seconds": START.timestamp(),
        "last_source_timestamp_seconds": START.timestamp() - 90,
        "open_rejects": 5,
    }
    assert {name: of(result, f"ingest_table_{name}", table="orders") for name in explained} == explained
    shown = {
        step: of(result, "ingest_table_step_duration_seconds", table="orders", step=step) for step in STEPS
    }
    assert shown == {"start": 0, "plan": 0.25, "read": 1.5, "write": 1.25, "upkeep": 0.25}
    assert of(result, "ingest_run_step_duration_seconds", step="start") == 0.5
    assert of(result, "ingest_run_outcome", outcome="temporary") == 1
    assert of(result, "ingest_run_duration_seconds") == 4
    assert of(result, "ingest_run_finished_timestamp_seconds") == REPORT.finished_at.timestamp()


def test_a_table_that_failed_is_there_by_its_outcome(tmp_path: Path) -> None:
    """One of the outcomes is 1; what is unknown is left out, and is not a zero."""
    publish(REPORT, str(tmp_path / "m.prom"))
    result = values((tmp_path / "m.prom").read_text())

    outcomes = ("committed", "idle", "failed", "temporary")
    shown = [of(result, "ingest_table_outcome", table="customers", outcome=outcome) for outcome in outcomes]
    assert shown == [0, 0, 0, 1]
    assert of(result, "ingest_table_lag_offsets", table="customers") is None
    assert of(result, "ingest_table_last_commit_timestamp_seconds", table="customers") is None


def test_units_are_written_as_openmetrics_requires(tmp_path: Path) -> None:
    """The unit is the end of the name; a bounded job has gauges, and nothing that would have to continue."""
    publish(REPORT, str(tmp_path / "m.prom"))
    families = list(read_openmetrics((tmp_path / "m.prom").read_text()))

    assert {family.type for family in families} == {"gauge"}
    assert all(family.name.startswith("ingest_") and family.documentation for family in families)
    named = {family.unit for family in families if family.name.endswith(("_seconds", "_bytes"))}
    assert named == {"seconds", "bytes"}
    assert all(family.unit for family in families if family.name.endswith(("_seconds", "_bytes")))


def test_a_file_is_replaced_in_one_move(tmp_path: Path) -> None:
    """A reader in between has the old one; nothing is left next to it."""
    path = tmp_path / "m.prom"
    publish(REPORT, str(path))
    with path.open() as before:
        publish(RunReport("r2", START, START, ()), str(path))
        assert "orders" in before.read()
    assert "orders" not in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_has_a_file_a_table_so_that_runs_of_other_tables_stay(tmp_path: Path) -> None:
    """By a name that ends with /, or because it is there; together they are one valid text."""
    publish(RunReport("r1", START, START, (GOOD,)), f"{tmp_path}/new/")
    publish(RunReport("r2", START, START, (BAD,)), str(tmp_path / "new"))

    files = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert files.keys() == {"ingest.prom", "ingest_orders.prom", "ingest_customers.prom"}
    assert of(values(files["ingest_orders.prom"]), "ingest_table_lag_offsets", table="orders") == 100
    assert of(values(files["ingest.prom"]), "ingest_run_outcome", outcome="temporary") == 1


# --- Pushgateway -------------------------------------------------------------------------------


class Gateway:
    """A Pushgateway as far as a client sees it: a PUT replaces what a group holds."""

    def __init__(self, status: int = 200) -> None:
        self.groups: dict[str, str] = {}
        self.headers: list[Mapping[str, str]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            """Store the body of a PUT."""

            def do_PUT(self) -> None:
                """Keep a group."""
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                gateway.groups[self.path] = text
                gateway.headers.append(dict(self.headers))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.server.server_port}"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Run a gateway."""
    built = Gateway()
    yield built
    built.server.shutdown()
    built.server.server_close()


def test_a_gateway_gets_a_group_a_table(gateway: Gateway) -> None:
    """A run of other tables replaces only its own; the user and password of the URL log in."""
    url = f"http://ann:s3%40cret@{gateway.address}/metrics/job/ingest/team/a%20b"
    publish(RunReport("r1", START, START, (GOOD,)), url)
    publish(RunReport("r2", START, START, (BAD,)), url)

    base = "/metrics/job/ingest"
    by_table = {path: text for path, text in gateway.groups.items() if "/table/" in path}
    assert len(gateway.groups) == 3
    assert all(path.startswith(base) and "/team@base64/YSBi" in path for path in gateway.groups)
    assert sorted(path.rpartition("/table/")[2].partition("/")[0] for path in by_table) == [
        "customers",
        "orders",
    ]
    (orders,) = (text for path, text in by_table.items() if "/table/orders" in path)
    assert ("ingest_table_lag_offsets", {"table": "orders"}, 100.0) in [
        sample[:3] for family in read_classic(orders) for sample in family.samples
    ]
    assert {header["Authorization"] for header in gateway.headers} == {"Basic YW5uOnMzQGNyZXQ="}


def test_a_gateway_that_refuses_or_is_down_is_an_os_error() -> None:
    """The caller logs a warning; the commits stay."""
    refusing = Gateway(status=400)
    with pytest.raises(OSError, match="400"):
        publish(REPORT, f"http://{refusing.address}/metrics/job/ingest")
    refusing.server.shutdown()
    refusing.server.server_close()
    with pytest.raises(OSError, match="refused"):
        publish(REPORT, f"http://{refusing.address}/metrics/job/ingest")


@pytest.mark.parametrize("path", ["", "/", "/metrics", "/metrics/job/", "/metrics/job/a/label", "/job/a"])
def test_a_url_without_a_group_is_refused_without_its_password(path: str) -> None:
    """The error shows a form that is right."""
    with pytest.raises(UsageError, match="metrics/job/NAME") as caught:
        parse_gateway(f"http://ann:s3cret@host:9091{path}")
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(parse_gateway("http://ann:s3cret@host/prefix/metrics/job/a"))


# --- the log -----------------------------------------------------------------------------------


def test_the_log_has_a_line_a_table_and_run_with_the_report_s_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """JSON away from a terminal, at the level info; none at the usual level."""
    handlers = logging.getLogger().handlers[:]
    try:
        for level, lines in (("warning", 0), ("info", 2)):
            log.configure(level)
            log_table("r1", GOOD)
            log_run(REPORT)
            explained = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
            assert len(explained) == lines
    finally:
        logging.getLogger().handlers[:] = handlers
        logging.getLogger("ingest").setLevel(logging.NOTSET)
        structlog.reset_defaults()
    table, run = explained
    assert (table["event"], table["run_id"], table["table"]) == ("table.done", "r1", "orders")
    assert (table["read"], table["upserted"], table["lag_offsets"], table["commit_seconds"]) == (
        1202, 900, 100, 1.5,
    )  # fmt: skip
    assert (run["event"], run["outcome"], run["tables"], run["seconds"]) == ("run.done", "temporary", 2, 4)


# --- status ------------------------------------------------------------------------------------


def status(lag: int | None = 0, lag_s: float | None = 0.0, error: IngestError | None = None) -> TableStatus:
    """Make the status of a table that has a commit."""
    last = LedgerEntry("r", Topic("t"), {}, {}, instant=Instant("1"))
    return TableStatus("t", Topic("t"), "/lake/t", last, lag, source_lag_s=lag_s, error=error)


@pytest.mark.parametrize(
    ("bound", "found", "word"),
    [
        ("100", status(100, 9e9), "ok"),
        ("100", status(101, 1), "behind"),
        ("15m", status(10**9, 900), "ok"),
        ("15 m", status(1, 900.1), "behind"),
        ("90s", status(1, 91), "behind"),
        ("2h", status(1, 7201), "behind"),
        ("1d", status(1, None), "behind"),
        ("1d", status(0, None), "ok"),
        ("0", status(0), "ok"),
        ("0", status(None), "behind"),
        ("100", status(None, None, TopicNotFoundError("t", "b:9092")), "failing"),
    ],
)
def test_a_table_s_health_is_a_word(bound: str, found: TableStatus, word: str) -> None:
    """A bound in offsets or in source time; a lag that is unknown is past it, if something is left."""
    assert health(found, parse_bound(bound)).state == word
    assert bool(parse_bound(bound).problem(found)) == (word in ("behind", "failing"))


@pytest.mark.parametrize("text", ["", "-1", "1.5", "15x", "m", "1 000", "\uff11m"])
def test_an_invalid_lag_is_refused(text: str) -> None:
    """With the forms that are."""
    with pytest.raises(UsageError, match=r"1000.*15 min"):
        parse_bound(text)
