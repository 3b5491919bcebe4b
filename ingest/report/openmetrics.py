"""A run as metrics: OpenMetrics text in files for a textfile collector, or sent to a Pushgateway.

All metrics are gauges.  They hold the numbers of a bounded job's last run, so a counter would be wrong.
The text is valid OpenMetrics and valid in Prometheus' older format, which node_exporter and the Pushgateway
read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import unquote, urlsplit

import attrs
from prometheus_client import Metric, push_to_gateway
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import basic_auth_handler, default_handler
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from ingest.errors import UsageError
from ingest.report.contract import Outcome, RunOutcome
from ingest.report.outcome import RunReport, TableOutcome, write_whole
from ingest.settings import mask_url

PUSH_TIMEOUT_S: Final = 10.0
_GROUP: Final = "http://HOST:9091/metrics/job/NAME"

# name, unit, meaning. The name ends with the unit.
_TABLE: Final[Mapping[str, tuple[str, str]]] = {
    "ingest_table_outcome": ("", "How the last run of the table ended: 1 for that outcome, 0 for others."),
    "ingest_table_messages": ("", "Messages that the last run read, by result."),
    "ingest_table_read_bytes": ("bytes", "Keys and values that the last run read."),
    "ingest_table_duration_seconds": ("seconds", "How long the table took."),
    "ingest_table_step_duration_seconds": ("seconds", "How long each step of the table took."),
    "ingest_table_commit_duration_seconds": ("seconds", "How long its commit took, rejects included."),
    "ingest_table_lag_offsets": ("", "Offsets of the topic, at the run's start, that are not in the table."),
    "ingest_table_lag_seconds": ("seconds", "Age of the oldest unread message, 0 if all messages are read."),
    "ingest_table_last_commit_timestamp_seconds": ("seconds", "When the table last had a commit."),
    "ingest_table_last_source_timestamp_seconds": ("seconds", "Source time of the newest change applied."),
    "ingest_table_open_rejects": ("", "Rejected records that were not replayed or purged."),
}
_RUN: Final[Mapping[str, tuple[str, str]]] = {
    "ingest_run_outcome": ("", "How the last run ended: 1 for that outcome, 0 for others."),
    "ingest_run_duration_seconds": ("seconds", "How long the run took."),
    "ingest_run_step_duration_seconds": ("seconds", "How long each step took, the tables' included."),
    "ingest_run_finished_timestamp_seconds": ("seconds", "When the run ended."),
}
Sample = tuple[str, dict[str, str], float]
"""A metric's name, its labels and its value."""
Families = Mapping[str, tuple[str, str]]
"""Metrics by name: unit, and text."""
RUN_FAMILIES: Final[Families] = {**_RUN, **_TABLE}


def publish(report: RunReport, target: str) -> None:
    """Write or send a run's metrics.

    `target` is a file, a folder (that exists, or with `/` at its end) or a Pushgateway's group.  A folder
    gets a file per table, and a group gets one group per table below it.  Raises `OSError` or `UsageError`.
    """
    if is_gateway(target):
        _push(report, target)
    elif target.endswith("/") or Path(target).is_dir():
        for name, text in by_table(report).items():
            write_whole(Path(target) / (f"ingest_{name}.prom" if name else "ingest.prom"), text)
    else:
        samples = [
            *run_samples(report),
            *(sample for table in report.tables for sample in table_samples(table)),
        ]
        write_whole(Path(target), to_text(samples))


def publish_tables(
    command: str, tables: Mapping[str, Sequence[Sample]], families: Families, target: str
) -> None:
    """Write or send the metrics that a command other than `run` has for each table.

    A folder gets `<command>_<table>.prom`, a Pushgateway a group for each table, and a file all of them.
    Raises `OSError` or `UsageError`.
    """
    if is_gateway(target):
        for name, samples in tables.items():
            put(parse_gateway(target), {"command": command, "table": name}, samples, families)
    elif target.endswith("/") or Path(target).is_dir():
        for name, samples in tables.items():
            write_whole(Path(target) / f"{command}_{name}.prom", to_text(samples, families))
    else:
        everything = [sample for samples in tables.values() for sample in samples]
        write_whole(Path(target), to_text(everything, families))


def is_gateway(target: str) -> bool:
    """Return whether a target is a Pushgateway instead of a path."""
    return target.startswith(("http://", "https://"))


def by_table(report: RunReport) -> dict[str, str]:
    """Return the text of each table by its name, and of the run itself under an empty one."""
    tables = {table.table: to_text(table_samples(table)) for table in report.tables}
    return {"": to_text(run_samples(report)), **tables}


def to_text(samples: Iterable[Sample], families: Families = RUN_FAMILIES) -> str:
    """Write samples as OpenMetrics text."""
    text: bytes = generate_latest(_Samples(tuple(samples), families))  # type: ignore[no-untyped-call] # theirs
    return text.decode()


def run_samples(report: RunReport) -> Iterator[Sample]:
    """Yield the metrics of a run as a whole."""
    for outcome in get_args(RunOutcome):
        yield "ingest_run_outcome", {"outcome": outcome}, float(report.outcome == outcome)
    seconds = (report.finished_at - report.started_at).total_seconds()
    yield "ingest_run_duration_seconds", {}, seconds
    for step, step_seconds in attrs.asdict(report.steps).items():
        yield "ingest_run_step_duration_seconds", {"step": step}, step_seconds
    yield "ingest_run_finished_timestamp_seconds", {}, report.finished_at.timestamp()


def table_samples(table: TableOutcome) -> Iterator[Sample]:
    """Yield the metrics of a table, without unknown values."""
    name, counts, measures = {"table": table.table}, table.counts, table.measures
    for outcome in get_args(Outcome):
        yield "ingest_table_outcome", {**name, "outcome": outcome}, float(table.outcome == outcome)
    results = {
        "upserted": counts.upserted,
        "deleted": counts.deleted,
        "superseded": counts.superseded,
        "ignored": sum(counts.ignored.values()),
        "rejected": counts.rejected,
    }
    for result, count in results.items():
        yield "ingest_table_messages", {**name, "result": result}, float(count)
    for step, seconds in attrs.asdict(table.steps).items():
        yield "ingest_table_step_duration_seconds", {**name, "step": step}, seconds
    values = {
        "ingest_table_read_bytes": counts.read_bytes,
        "ingest_table_duration_seconds": table.seconds,
        "ingest_table_commit_duration_seconds": measures.commit_s,
        "ingest_table_lag_offsets": measures.lag_offsets,
        "ingest_table_lag_seconds": measures.lag_s,
        "ingest_table_last_commit_timestamp_seconds": _timestamp(measures.committed_at),
        "ingest_table_last_source_timestamp_seconds": _timestamp(measures.newest_source_at),
        "ingest_table_open_rejects": measures.open_rejects,
    }
    yield from ((metric, name, float(value)) for metric, value in values.items() if value is not None)


def _timestamp(instant: Any) -> float | None:
    return None if instant is None else float(instant.timestamp())


@attrs.frozen
class _Samples(Collector):
    """Samples in the library's form: each metric once, with all its samples."""

    samples: Sequence[Sample]
    families: Families

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics that have samples, in the order of their families."""
        for name, (unit, text) in self.families.items():
            samples = [sample for sample in self.samples if sample[0] == name]
            if samples:
                family = GaugeMetricFamily(name, text, labels=list(samples[0][1]), unit=unit)
                for _, labels, value in samples:
                    family.add_metric(list(labels.values()), value)
                yield family


# --- Pushgateway -------------------------------------------------------------------------------


@attrs.frozen
class Gateway:
    """A group of a Pushgateway: its address without path, the job, and other labels of the group."""

    address: str
    job: str
    labels: dict[str, str]
    user: str | None = None
    password: str | None = attrs.field(default=None, repr=False)


def parse_gateway(url: str) -> Gateway:
    """Take the URL of a group apart: `http://user:password@host:9091/metrics/job/NAME/label/value`."""
    shown, parts = mask_url(url), urlsplit(url)
    before, separator, group = parts.path.rpartition("/metrics/job/")
    job, *labels = [unquote(step) for step in group.split("/")] if separator else [""]
    if not job or len(labels) % 2 or not all(labels):
        raise UsageError(f"metrics {shown}: not a group of a Pushgateway", f"Give one such as {_GROUP}")
    try:
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise UsageError(f"metrics {shown}: has no valid port") from None
    return Gateway(
        f"{parts.scheme}://{host}{port}{before}",
        job,
        dict(zip(labels[::2], labels[1::2], strict=True)),
        None if parts.username is None else unquote(parts.username),
        None if parts.password is None else unquote(parts.password),
    )


def _push(report: RunReport, url: str) -> None:
    """Replace the groups of the run and of each of its tables. Groups of other tables stay."""
    gateway = parse_gateway(url)
    put(gateway, {}, run_samples(report))
    for table in report.tables:
        put(gateway, {"table": table.table}, table_samples(table))


def put(
    gateway: Gateway,
    group: Mapping[str, str],
    samples: Iterable[Sample],
    families: Families = RUN_FAMILIES,
) -> None:
    """Replace a group below the gateway's group."""
    handler = default_handler
    if gateway.user is not None:
        handler = partial(basic_auth_handler, username=gateway.user, password=gateway.password or "")
    push_to_gateway(
        gateway.address,
        gateway.job,
        _Samples(tuple(samples), families),
        grouping_key={**gateway.labels, **group},
        timeout=PUSH_TIMEOUT_S,
        handler=handler,
    )
