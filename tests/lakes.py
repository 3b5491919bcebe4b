"""Tables of a lake made without a JVM, byte for byte in the layout that Hudi 1.2.0 writes.

`tests/data/hudi` holds the Avro schemas of Hudi's own timeline files.
"""

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import fastavro

from ingest.hudi.fixed import recorded_parts
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata
from ingest.moments import to_millis
from ingest.names import Partition
from ingest.tables import TableConfig, read

SCHEMAS = Path(__file__).parent / "data" / "hudi"
COMMIT = fastavro.parse_schema(json.loads((SCHEMAS / "commit.avsc").read_text()))
CLEAN = fastavro.parse_schema(json.loads((SCHEMAS / "clean.avsc").read_text()))
COUNTERS = {"read": 10, "upserted": 8, "deleted": 1, "superseded": 1}
COLUMNS = {"id": "int", "name": "string"}
FIRST = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def instant_of(moment: datetime) -> str:
    """Write a moment as Hudi names instants."""
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03}"


def parquet(rows: int) -> bytes:
    """Return a Parquet file with a footer that counts its rows, and nothing else."""
    zigzag, varint = rows << 1, b""
    while zigzag > 127:
        varint, zigzag = varint + bytes([zigzag & 127 | 128]), zigzag >> 7
    # FileMetaData: version (i32) 1, schema (list of struct) empty, num_rows (i64)
    footer = bytes([0x15, 0x02, 0x19, 0x0C, 0x16]) + varint + bytes([zigzag, 0x00])
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def avro_schema(columns: Mapping[str, str]) -> str:
    """Return the schema that Hudi keeps of a table: nullable columns but for `id`."""
    fields: list[dict[str, Any]] = [{"name": "_cdc_op", "type": ["null", "string"], "default": None}]
    fields += [{"name": "_cdc_position", "type": "string"}]
    for name, kind in columns.items():
        fields.append({"name": name, "type": kind if name == "id" else ["null", kind]})
    return json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": fields})


@attrs.define
class MadeTable:
    """A table with one file group; each commit writes its base file again."""

    folder: Path
    table: TableConfig
    now: datetime = FIRST
    offset: int = 0
    commits: int = 0
    high: int = 0
    instants: list[str] = attrs.Factory(list)

    def __attrs_post_init__(self) -> None:
        home = self.folder / ".hoodie"
        (home / "timeline" / "history").mkdir(parents=True)
        checksum = zlib.crc32(f".{self.table.name}".encode())
        kind = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[self.table.target.type]
        values = {
            "hoodie.table.version": "9", "hoodie.timeline.layout.version": "2",
            "hoodie.timeline.path": "timeline", "hoodie.timeline.history.path": "history",
            "hoodie.table.base.file.format": "PARQUET", "hoodie.table.type": kind,
            "hoodie.table.name": self.table.name, "hoodie.table.checksum": checksum,
            "hoodie.table.recordkey.fields": "id", "hoodie.table.partition.fields": "",
        }  # fmt: skip
        lines = "".join(f"{key}={value}\n" for key, value in values.items())
        (home / "hoodie.properties").write_text(lines)

    def commit(
        self,
        rows: int,
        *,
        columns: Mapping[str, str] = COLUMNS,
        after: timedelta = timedelta(minutes=10),
        seconds: float = 2.5,
        counters: Mapping[str, int] | None = None,
        **fields: Any,
    ) -> str:
        """Commit a state of `rows` rows, with an account of the read messages."""
        self.now += after
        self.commits += 1
        counters = COUNTERS if counters is None else counters
        self.offset = fields.pop("to", self.offset + counters.get("read", 0))
        self.high = max(self.high, self.offset)
        entry = LedgerEntry(
            run_id=f"{self.commits:08x}-run",
            topic=self.table.topic,
            next_offsets={Partition(0): self.offset},
            high_offsets={Partition(0): self.high},
            counters=counters,
            table_file=recorded_parts(self.table, ("id",)),
            committed_ms=to_millis(self.now) - 40,
            max_source_ms=to_millis(self.now) - 5_000,
        )
        extra = {"schema": avro_schema(columns), **commit_metadata(attrs.evolve(entry, **fields))}
        return self.write("UPSERT", extra, rows, seconds)

    def write(self, operation: str, extra: Mapping[str, str], rows: int, seconds: float = 1.0) -> str:
        """Write a commit's file and its data file, with any metadata."""
        instant = instant_of(self.now)
        data = (
            self.folder
            / f"00000000-aaaa-bbbb-cccc-000000000000-0_0-{self.commits}-{self.commits}_{instant}.parquet"
        )
        data.write_bytes(parquet(rows))
        stat = {
            "fileId": "00000000-aaaa-bbbb-cccc-000000000000-0", "path": data.name,
            "fileSizeInBytes": data.stat().st_size, "numWrites": rows,
        }  # fmt: skip
        content = {
            "partitionToWriteStats": {"": [stat]},
            "extraMetadata": dict(extra),
            "operationType": operation,
        }
        self._action(instant, "commit", COMMIT, content, seconds)
        self.instants.append(instant)
        return instant

    def clean(self, earliest: str) -> None:
        """Clean the versions that only commits before `earliest` need."""
        newest = max(instant for instant in self.instants if instant <= earliest)
        for file in self.folder.glob("*.parquet"):
            if file.stem.rpartition("_")[2] < newest:
                file.unlink()
        self.now += timedelta(seconds=20)
        content = {
            "startCleanTime": instant_of(self.now), "timeTakenInMillis": 7, "totalFilesDeleted": 1,
            "earliestCommitToRetain": earliest, "lastCompletedCommitTimestamp": earliest,
            "partitionMetadata": {}, "version": 2, "bootstrapPartitionMetadata": {}, "extraMetadata": {},
        }  # fmt: skip
        self._action(instant_of(self.now), "clean", CLEAN, content, 0.1)

    def _action(self, instant: str, action: str, schema: Any, content: Any, seconds: float) -> None:
        completed = instant_of(self.now + timedelta(seconds=seconds))
        with (self.folder / ".hoodie" / "timeline" / f"{instant}_{completed}.{action}").open("wb") as file:
            fastavro.writer(file, schema, [content])


@attrs.define
class MadeDeployment:
    """Settings, table files and a lake of made tables; without further settings there is no broker."""

    root: Path
    settings: str = '[registry]\nurl = "http://127.0.0.1:9"\n'

    def __attrs_post_init__(self) -> None:
        (self.root / "tables").mkdir(parents=True)
        (self.root / "ingest.toml").write_text(self.settings)

    def table(self, name: str, *, text: str = "", kind: str = "cow", **fields: Any) -> MadeTable:
        """Write a table file, and make the table."""
        topic = fields.pop("topic", f"server1.dbo.{name}")
        content = f'table = "{name}"\ntopic = {json.dumps(topic)}\ndialect = "sqlserver"\n'
        content += f'[subjects]\nvalue = {json.dumps(f"{topic}-value")}\n[target]\ntype = "{kind}"\n{text}'
        file = self.root / "tables" / f"{name}.toml"
        file.write_text(content)
        return MadeTable(self.root / "lake" / name, read(file), **fields)
