"""Recordings as two shards: one table of both equals the source's rows, in any order of arrival."""

import gzip
import json
import shutil
import zlib
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from ingest.local.load import LoadOptions, load
from tests.e2e.deployment import Deployment
from tests.e2e.recordings import MONGODB, MYSQL, ORACLE, POSTGRES, POSTGRES_JSON, SQLSERVER, Recording
from tests.e2e.referee import differences, read_expected, read_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Plan = Callable[["Shards"], None]
SHARDS = ("a", "b")


class Shards:
    """A recording as topics of two shards: each key in one of them (`split`), or all keys in both."""

    def __init__(self, deployment: Deployment, folder: Path, *, is_split: bool) -> None:
        self.deployment, self.recording = deployment, deployment.recording
        self.folders = dict.fromkeys(SHARDS, self.recording.folder)
        if is_split:
            self.folders = {shard: self._part(number, folder / shard) for number, shard in enumerate(SHARDS)}

    def _part(self, number: int, folder: Path) -> Path:
        """Copy the recording with the messages of half of the keys; those without a key are in both."""
        shutil.copytree(self.recording.folder, folder)
        for path in folder.rglob("*.jsonl.gz"):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                lines = [line for line in file if self._is_in(json.loads(line), number)]
            with gzip.open(path, "wt", encoding="utf-8") as file:
                file.writelines(lines)
        return folder

    @staticmethod
    def _is_in(message: dict[str, str], number: int) -> bool:
        return message["k"] is None or zlib.crc32(message["k"].encode()) % 2 == number

    def load(self, limit: int | None = None) -> None:
        """Produce the messages that the topics lack."""
        recorded, servers = self.recording, self.deployment.servers
        for shard, folder in self.folders.items():
            options = LoadOptions(
                (f"{recorded.prefix}.{recorded.pattern}",),
                None,
                (recorded.prefix, f"{self.deployment.prefix}{shard}"),
                limit=limit,
            )
            load(folder, servers.bootstrap_servers, servers.registry_url, options)

    def onboard(self, kind: str) -> None:
        """Write a table file for the topics of each table."""
        pattern = f"{self.deployment.prefix}[ab].{self.recording.pattern}"
        with self.deployment.session as session:
            session.onboard([pattern], name="{table}", format=self.recording.format, merge=True)
        for path in self.deployment.tables.glob("*.toml"):
            path.write_text(path.read_text().replace('type = "cow"', f'type = "{kind}"'))

    def move_back(self) -> None:
        """Move the offsets of all topics back."""
        session = self.deployment.session
        for table in self.recording.tables:
            for shard in SHARDS:
                topic = self.recording.topic(table).replace(
                    self.recording.prefix, f"{self.deployment.prefix}{shard}", 1
                )
                session.move_offsets(table, "earliest", topic=topic)

    def differences(self, table: str, *, is_split: bool) -> list[str]:
        """Compare the rows of both shards, or those of each, with the source's."""
        expected = read_expected(self.recording, table)
        frame = self.deployment.frame(table)
        parts = [frame] if is_split else [frame.where(f"_cdc_source like '%{s}.%'") for s in self.prefixes()]
        found = [read_table(part, expected.keys, expected.kinds) for part in parts]
        return [line for rows in found for line in differences(expected.rows, rows)]

    def prefixes(self) -> list[str]:
        """Return the shards' topic prefixes."""
        return [f"{self.deployment.prefix}{shard}" for shard in SHARDS]


def once(shards: Shards) -> None:
    """Everything at once."""
    shards.load()
    shards.deployment.run()


def slices(shards: Shards) -> None:
    """Messages that arrive between runs."""
    for limit in (40, 100, None):
        shards.load(limit=limit)
        shards.deployment.run()


def repeated(shards: Shards) -> None:
    """Every range twice, in runs of a few offsets."""
    shards.load()
    shards.deployment.run(max_offsets=90)
    shards.move_back()
    shards.deployment.run_until_idle(max_offsets=120)


USUAL = {(SQLSERVER, once, True, "mor")}
CASES = [
    pytest.param(case, id=f"{case[0].name}-{case[1].__name__}-{'split' if case[2] else 'same'}-{case[3]}",
                 marks=[] if case in USUAL else pytest.mark.pairs)
    for case in product(
        (SQLSERVER, POSTGRES, ORACLE, MYSQL, MONGODB, POSTGRES_JSON),
        (once, slices, repeated), (True, False), ("cow", "mor"),
    )
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_shards_equal_the_source(
    case: tuple[Recording, Plan, bool, str],
    make_deployment: Callable[[Recording], Deployment],
    tmp_path: Path,
) -> None:
    """Every cell equals the source's; where both topics have all keys, those of each topic do."""
    recording, plan, is_split, kind = case
    deployment = make_deployment(recording)
    shards = Shards(deployment, tmp_path / "parts", is_split=is_split)
    shards.load(limit=0)
    shards.load(limit=1)
    shards.onboard(kind)

    plan(shards)

    wrong = {table: shards.differences(table, is_split=is_split) for table in recording.tables}
    assert {table: lines for table, lines in wrong.items() if lines} == {}
    assert {outcome.outcome for outcome in deployment.run().tables} == {"idle"}
