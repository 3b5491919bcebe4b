"""A deployment in a temporary folder, run by the Python API over the suite's servers and Spark session."""

from collections.abc import Sequence
from pathlib import Path

import attrs
from pyspark.sql import DataFrame, SparkSession

from ingest.local.load import LoadOptions, load
from ingest.local.servers import Addresses
from ingest.run.report import RunReport
from ingest.run.session import Session
from tests.e2e.recordings import SQLSERVER, Recording


@attrs.frozen
class Deployment:
    """Settings, table files and a lake of their own; topics carry `prefix`, so that no two share any."""

    root: Path
    servers: Addresses
    spark: SparkSession
    prefix: str
    recording: Recording = SQLSERVER

    def __attrs_post_init__(self) -> None:
        (self.root / "ingest.toml").write_text(
            f'[registry]\nurl = "{self.servers.registry_url}"\n'
            f'[kafka]\nbootstrap_servers = "{self.servers.bootstrap_servers}"\n'
        )

    @property
    def session(self) -> Session:
        """The deployment, opened over the suite's Spark session."""
        return Session.open(self.root / "ingest.toml", spark=self.spark)

    def load(
        self, *, partitions: int | None = None, limit: int | None = None, versions: int | None = None
    ) -> None:
        """Produce the recorded messages of the data topics, what is not there yet."""
        recorded = self.recording
        options = LoadOptions(
            (f"{recorded.prefix}.{recorded.pattern}",),
            partitions,
            (recorded.prefix, self.prefix),
            versions=versions,
            limit=limit,
        )
        load(recorded.folder, self.servers.bootstrap_servers, self.servers.registry_url, options)

    def onboard(self, **target: str) -> None:
        """Make the table files, and change `[target]` as a person would."""
        self.session.onboard(
            [f"{self.prefix}.{self.recording.pattern}"], name="{table}", format=self.recording.format
        )
        for path in (self.root / "tables").glob("*.toml"):
            text = path.read_text()
            for key, value in target.items():
                before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
                text = text.replace(before, f'{key} = "{value}"')
            path.write_text(text)

    def run(self, names: Sequence[str] = (), *, max_offsets: int | None = None) -> RunReport:
        """Run tables once."""
        return self.session.run(names, max_offsets=max_offsets)

    def run_until_idle(self, *, max_offsets: int | None = None) -> list[RunReport]:
        """Run until nothing is new; every report on the way."""
        reports = [self.run(max_offsets=max_offsets)]
        while any(one.outcome == "committed" for one in reports[-1].tables):
            reports.append(self.run(max_offsets=max_offsets))
        return reports

    def frame(self, table: str) -> DataFrame:
        """Read a table with plain Spark, as a user does."""
        return self.spark.read.format("hudi").load(str(self.root / "lake" / table))
