"""Recordings as two shards: one table of both equals the source's rows, in any order of arrival."""

import base64
import gzip
import json
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from ingest.decode.wire import HEADER_BYTES
from ingest.errors import UsageError
from ingest.local.load import LoadOptions, load
from tests.e2e.deployment import Deployment
from tests.e2e.recordings import MONGODB, MYSQL, ORACLE, POSTGRES, POSTGRES_JSON, SQLSERVER, Recording
from tests.e2e.referee import differences, read_expected, read_table
from tests.e2e.test_history import differing_versions
from tests.long_files import write_out

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
        if message["k"] is None:
            return True
        key = base64.b64decode(message["k"])
        value = key[HEADER_BYTES:] if key.startswith(b"\0") else key  # the schema of a key may change
        return zlib.crc32(value) % 2 == number

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

    def onboard(self, kind: str, mode: str = "upsert") -> None:
        """Write a table file for the topics of each table."""
        pattern = f"{self.deployment.prefix}[ab].{self.recording.pattern}"
        with self.deployment.session as session:
            session.onboard([pattern], name="{table}", format=self.recording.format, merge=True)
        write_out(self.deployment.tables)
        for path in self.deployment.tables.glob("*.toml"):
            text = path.read_text().replace('type = "cow"', f'type = "{kind}"')
            path.write_text(text.replace('mode = "upsert"', f'mode = "{mode}"'))

    def move_back(self) -> None:
        """Move the offsets of all topics back that have messages."""
        session = self.deployment.session
        for table in self.recording.tables:
            for shard in SHARDS:
                topic = self.recording.topic(table).replace(
                    self.recording.prefix, f"{self.deployment.prefix}{shard}", 1
                )
                with suppress(UsageError):  # half of a short topic may be empty, and was not read
                    session.move_offsets(table, "earliest", topic=topic)

    def differences(self, table: str, *, is_split: bool) -> list[str]:
        """Compare the rows of both shards, or those of each, with the source's."""
        expected = read_expected(self.recording, table)
        parts = self.parts(table, is_split=is_split)
        found = [read_table(part, expected.keys, expected.kinds) for part in parts]
        return [line for rows in found for line in differences(expected.rows, rows)]

    def parts(self, table: str, *, is_split: bool) -> list[DataFrame]:
        """Return the rows of both shards, or those of each."""
        frame = self.deployment.frame(table)
        return [frame] if is_split else [frame.where(f"_cdc_source like '%{s}.%'") for s in self.prefixes()]

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


Case = tuple[Recording, Plan, bool, str]
USUAL = {(SQLSERVER, once, True, "mor")}
ALL: tuple[Case, ...] = tuple(product(
    (SQLSERVER, POSTGRES, ORACLE, MYSQL, MONGODB, POSTGRES_JSON),
    (once, slices, repeated), (True, False), ("cow", "mor"),
))  # fmt: skip


def name_of(case: Case) -> str:
    """Return the name of a case."""
    recording, plan, is_split, kind = case
    return f"{recording.name}-{plan.__name__}-{'split' if is_split else 'same'}-{kind}"


def run_case(case: Case, deployment: Deployment, folder: Path, mode: str = "upsert") -> Shards:
    """Onboard the topics of a recording's shards, and run its tables by the plan of a case."""
    _, plan, is_split, kind = case
    shards = Shards(deployment, folder / "parts", is_split=is_split)
    shards.load(limit=0)
    shards.load(limit=1)
    shards.onboard(kind, mode)
    plan(shards)
    return shards


CASES = [
    pytest.param(case, id=name_of(case), marks=[] if case in USUAL else pytest.mark.pairs) for case in ALL
]


@pytest.mark.parametrize("case", CASES)
def test_shards_equal_the_source(
    case: Case,
    make_deployment: Callable[[Recording], Deployment],
    tmp_path: Path,
) -> None:
    """Every cell equals the source's; where both topics have all keys, those of each topic do."""
    recording, _, is_split, _ = case
    shards = run_case(case, make_deployment(recording), tmp_path)
    wrong = {table: shards.differences(table, is_split=is_split) for table in recording.tables}
    assert {table: lines for table, lines in wrong.items() if lines} == {}
    assert {outcome.outcome for outcome in shards.deployment.run().tables} == {"idle"}


@pytest.mark.pairs
@pytest.mark.parametrize("case", [pytest.param(case, id=name_of(case)) for case in ALL])
def test_histories_of_shards_equal_a_replay(
    case: Case, make_deployment: Callable[[Recording], Deployment], tmp_path: Path
) -> None:
    """Every version of every row equals the source's, each shard by itself."""
    recording, _, is_split, _ = case
    shards = run_case(case, make_deployment(recording), tmp_path, mode="history")
    wrong = {
        table: [
            line
            for part in shards.parts(table, is_split=is_split)
            for line in differing_versions(recording, table, part)
        ]
        for table in recording.tables
    }
    assert {table: lines[:5] for table, lines in wrong.items() if lines} == {}
