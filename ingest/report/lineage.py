"""OpenLineage events of a run: from the topic to the table, with columns (`[lineage]`).

A table sends START when it begins to read, then COMPLETE with the columns and their origins, or FAIL with the
error.  A table without new messages sends no events.  Each table's run has a separate id, and the id of the
whole run as its parent.  If a server fails, the run logs one warning, and no table fails.
"""

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid5

import attrs
from openlineage.client import event_v2 as events
from openlineage.client import facet_v2 as facets
from openlineage.client.transport import file as to_file
from openlineage.client.transport import http as to_http
from openlineage.client.transport import http_common as retries

from ingest.compile.evolve import Evolution
from ingest.log import logger, masked
from ingest.moments import to_iso
from ingest.report.outcome import TableOutcome
from ingest.settings import LineageSettings, Settings
from ingest.sql.types import SparkType
from ingest.tables import Feed

if TYPE_CHECKING:
    from openlineage.client.transport.transport import Transport

_PRODUCER: Final = "https://openlineage.io/integration/hudi-cdc-ingest"
_RUN: Final = "run"
_ENDED: Final = ("committed", "failed", "temporary")


@attrs.frozen
class ColumnOrigin:
    """A column of the table, its type, and the fields of the topic that it comes from.

    `is_same`: the value is stored as the topic has it.
    """

    name: str
    type: str
    fields: tuple[str, ...] = ()
    is_same: bool = True


@attrs.define(eq=False)
class Lineage:
    """The events of one run, sent from its tables' threads."""

    settings: Settings
    run_id: str
    _transports: "tuple[Transport, ...] | None" = attrs.field(default=None, init=False)
    _started: set[str] = attrs.field(factory=set, init=False)
    _columns: dict[str, tuple[ColumnOrigin, ...]] = attrs.field(factory=dict, init=False)
    _guard: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def start(self, feed: Feed) -> None:
        """Send that a table begins, once in a run."""
        if _label(feed) not in self._started:
            self._started.add(_label(feed))
            self._emit("START", feed, {}, {})

    def note_columns(self, feed: Feed, evolution: Evolution, columns: Mapping[str, SparkType]) -> None:
        """Note the columns of a commit, for the event at the end."""
        self._columns[_label(feed)] = origins_of(evolution, columns)

    def finish(self, feed: Feed, outcome: TableOutcome) -> None:
        """Send the end of a table that had something to do, or failed."""
        if outcome.outcome not in _ENDED:
            return
        self.start(feed)
        if outcome.error is not None:
            error = facets.error_message_run.ErrorMessageRunFacet(self._masked(str(outcome.error)), "PYTHON")
            self._emit("FAIL", feed, {"errorMessage": error}, {})
            return
        rows = outcome.counts.upserted + outcome.counts.deleted
        statistics = facets.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
        self._emit("COMPLETE", feed, {}, {"outputStatistics": statistics})

    def _emit(self, kind: str, feed: Feed, run: Mapping[str, Any], output: Mapping[str, Any]) -> None:
        """Send an event to all receivers. After the first failure, the run sends no more events."""
        with self._guard:
            if self._transports == ():
                return
            try:
                self._transports = self._transports or tuple(_transports(self.settings.lineage))
                event = self._event(kind, feed, run, output)
                for transport in self._transports:
                    transport.emit(event)
            except Exception as error:  # noqa: BLE001  no table fails for want of a listener
                self._transports = ()
                problem = self._masked(f"{type(error).__name__}: {error}")
                logger(__name__).warning("lineage.not-sent", table=feed.name, problem=problem)

    def _event(
        self, kind: str, feed: Feed, run: Mapping[str, Any], output: Mapping[str, Any]
    ) -> events.RunEvent:
        topic = self._topic(feed)
        columns = self._columns.get(_label(feed), ())
        path = self.settings.lake.table_path(feed.name)
        parent = facets.parent_run.ParentRunFacet(
            facets.parent_run.Run(self.run_id),
            facets.parent_run.Job(self.settings.lineage.namespace, _RUN),
        )
        job_type = facets.job_type_job.JobTypeJobFacet("BATCH", "INGEST", "TABLE")
        return events.RunEvent(
            eventType=events.RunState(kind),
            eventTime=to_iso(datetime.now(UTC)),
            run=events.Run(str(uuid5(UUID(self.run_id), _label(feed))), {"parent": parent, **run}),
            job=events.Job(self.settings.lineage.namespace, _label(feed), {"jobType": job_type}),
            inputs=[events.InputDataset(*topic, facets=_input_facets(columns))],
            outputs=[
                events.OutputDataset(
                    *dataset_of(path), facets=_output_facets(columns, topic), outputFacets=dict(output)
                )
            ],
            producer=_PRODUCER,
        )

    def _topic(self, feed: Feed) -> tuple[str, str]:
        """Name a topic as OpenLineage does: its namespace is the first broker."""
        server = self.settings.kafka.bootstrap_servers.split(",")[0].strip()
        return f"kafka://{server}", feed.topic

    def _masked(self, text: str) -> str:
        return str(masked(text, self.settings.secrets()))


def _label(feed: Feed) -> str:
    """Return the name of a table's job. Each topic of a table of several has a separate job."""
    return f"{feed.name}/{feed.source}" if feed.source else feed.name


def origins_of(evolution: Evolution, columns: Mapping[str, SparkType]) -> tuple[ColumnOrigin, ...]:
    """Return the origin of each column of a table, as the batch compiled it.

    Columns that only ingest writes, or that the batch lacks, have no origin.
    """
    targets = {column.name: column for column in (*evolution.keys, *evolution.columns)}
    origins = []
    for name, spark_type in {**columns, **{name: target.spark for name, target in targets.items()}}.items():
        sources = targets[name].sources if name in targets else ()
        fields = tuple(dict.fromkeys(source.origin for source in sources))
        is_same = all(not source.mapped.semantic for source in sources)
        origins.append(ColumnOrigin(name, str(spark_type), fields, is_same))
    return tuple(origins)


def dataset_of(path: str) -> tuple[str, str]:
    """Name a table by its path, as OpenLineage does. The namespace is the storage's."""
    url = urlsplit(path)
    if url.scheme in ("", "file"):
        return "file", url.path
    scheme = "s3" if url.scheme in ("s3a", "s3n") else url.scheme
    return f"{scheme}://{url.netloc}", url.path.lstrip("/") if scheme in ("s3", "gs") else url.path


def _transports(settings: LineageSettings) -> "list[Transport]":
    transports: list[Transport] = []
    if settings.file is not None:
        transports.append(to_file.FileTransport(to_file.FileConfig(str(settings.file), append=True)))
    if settings.url:
        key = settings.api_key
        login = to_http.ApiKeyTokenProvider({"api_key": key.reveal()}) if key else to_http.TokenProvider({})
        retry = {**retries.DEFAULT_RETRY_CONFIG, "total": 1, "read": 0, "connect": 1}
        base = f"{settings.url.strip().rstrip('/')}/"  # the client resolves the rest against it as a link
        config = to_http.HttpConfig(base, timeout=settings.timeout_s, auth=login, retry=retry)
        transports.append(to_http.HttpTransport(config))
    return transports


def _input_facets(columns: Sequence[ColumnOrigin]) -> dict[str, Any]:
    """Return the fields of the topic that reach the table."""
    if not columns:
        return {}
    schema = facets.schema_dataset
    names = dict.fromkeys(field for column in columns for field in column.fields)
    return {"schema": schema.SchemaDatasetFacet([schema.SchemaDatasetFacetFields(name) for name in names])}


def _output_facets(columns: Sequence[ColumnOrigin], topic: tuple[str, str]) -> dict[str, Any]:
    """Return the columns of the table, and the fields of the topic behind each."""
    if not columns:
        return {}
    schema, lineage = facets.schema_dataset, facets.column_lineage_dataset
    listed = [schema.SchemaDatasetFacetFields(column.name, column.type) for column in columns]
    origins = {
        column.name: lineage.Fields(
            [
                lineage.InputField(
                    *topic,
                    field,
                    [lineage.Transformation("DIRECT", "IDENTITY" if column.is_same else "TRANSFORMATION")],
                )
                for field in column.fields
            ]
        )
        for column in columns
        if column.fields
    }
    return {
        "schema": schema.SchemaDatasetFacet(listed),
        "columnLineage": lineage.ColumnLineageDatasetFacet(origins),
    }
