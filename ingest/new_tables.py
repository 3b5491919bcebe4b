"""The part of the Python API that begins tables: from topics, or with rows from elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.adopt.request import AdoptRequest, LoadRequest
from ingest.deployment import Deployment
from ingest.lazy import LazyModule
from ingest.names import Topic
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.tables import Format

if TYPE_CHECKING:
    from ingest.adopt import adopt as adopting
    from ingest.adopt import load as loading
    from ingest.adopt.plan import Takeover
    from ingest.compile.payload import WriterSchema
    from ingest.onboard import onboard as onboarding
    from ingest.onboard import split as splitting
    from ingest.run import source_tables
    from ingest.run.context import Progress
    from ingest.run.topic_tables import TopicTables
    from ingest.stop import Stop
else:
    onboarding, splitting = LazyModule("ingest.onboard.onboard"), LazyModule("ingest.onboard.split")
    source_tables = LazyModule("ingest.run.source_tables")
    adopting, loading = LazyModule("ingest.adopt.adopt"), LazyModule("ingest.adopt.load")


def silent(table: str, step: str) -> None:
    """Ignore a step: the default progress."""


class NewTables(Deployment):
    """A deployment whose tables begin from topics, and may begin with rows that no message brought."""

    def onboard(
        self,
        patterns: Sequence[str],
        *,
        name: str | None = None,
        format: Format = "avro",  # noqa: A002  the table file's word
        schema: "Path | str | None" = None,
        append: bool = False,
        key: Sequence[str] = (),
        merge: bool = False,
        split: bool = False,
        exclude: Sequence[str] = (),
        check: bool = False,
        dry_run: bool = False,
        progress: "Progress" = silent,
    ) -> "tuple[Onboarded, ...]":
        """Write table files for the topics that match a glob (see `ingest.onboard.onboard`).

        `format` is that of the messages; `schema` is a file for JSON messages that do not hold their own;
        with `append` every change becomes a row of its own, and any topic of records a table; `key` names the
        columns that are unique, of topics without keys; with `merge` topics of one table name become one;
        with `split` a topic becomes a table for each that its messages name, read by Spark; topics that match
        a glob of `exclude` are left alone; with `check` nothing is written, and files without a topic are
        reported as `orphaned`.
        """
        file = None if schema is None else Path(schema)
        options = OnboardOptions(name, format, file, append, tuple(key), merge, split, tuple(exclude), check)
        if not split:
            return onboarding.onboard(self.settings, self.registry, patterns, options, dry_run=dry_run)
        run = self._run(progress)

        def read_tables(topic: Topic, values: "tuple[WriterSchema, ...]", messages: int) -> "TopicTables":
            return source_tables.read_tables(run, topic, values, messages)

        return splitting.onboard_split(
            self.settings, self.registry, patterns, options, read_tables, dry_run=dry_run
        )

    def adopt(
        self,
        name: str,
        request: AdoptRequest | None = None,
        *,
        progress: "Progress" = silent,
        stop: "Stop | None" = None,
    ) -> "Takeover":
        """Take over a Hudi table of another writer (see `ingest.adopt.adopt`).

        Signals work as in `run`; an error is in the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        request = request or AdoptRequest()
        return adopting.adopt_table(
            run, table, lambda: self._driver.process, request, raises_signal=stop is None
        )

    def load(
        self, name: str, request: LoadRequest, *, progress: "Progress" = silent, stop: "Stop | None" = None
    ) -> "Takeover":
        """Fill an empty table from an export of its source (see `ingest.adopt.load`).

        Signals work as in `run`; an error is in the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        return loading.load_table(
            run, table, lambda: self._driver.process, request, raises_signal=stop is None
        )
