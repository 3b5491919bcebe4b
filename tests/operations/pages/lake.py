"""A lake in every kind of trouble, for tests of its pages."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingest.moments import to_millis
from tests.lakes import MadeDeployment, MadeTable

SQLSERVER = Path(__file__).parents[3] / "registry_fixtures" / "sqlserver"
HOSTILE = "</script></style></td><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e&amp;'\""
NARROW = {"id": "int", "first_name": "string", "email": "string"}
WIDE = {"id": "long", "first_name": "string", "phone": "string", "email": "string"}


def fill(table: MadeTable, commits: int, until: datetime, step: timedelta = timedelta(minutes=30)) -> None:
    """Commit a history with a change of the columns in its middle."""
    table.now = until - commits * step
    for number in range(commits):
        upserted, deleted = (number * 37) % 211, (number * 13) % 29
        table.commit(
            1_000 + number,
            after=step,
            columns=WIDE if number >= commits // 2 else NARROW,
            schema_ids=[1 + (number >= commits // 2)],
            started_ms=to_millis(table.now + step) - 4_000,
            counters={"read": upserted + deleted, "upserted": upserted, "deleted": deleted},
        )


def make_lake(root: Path, registry: str = str(SQLSERVER)) -> MadeDeployment:
    """Make tables that are well, hostile, damaged, changed, empty, and a table file that is not one."""
    settings = f'[registry]\nurl = "{registry}"\n[kafka]\nbootstrap_servers = "127.0.0.1:9"\ntimeout_s = 3\n'
    deployment, now = MadeDeployment(root, settings), datetime.now(UTC)
    customers = deployment.table(
        "customers", topic="sqs.testDB.dbo.customers", text='[key]\ncolumns = ["id"]\n'
    )
    fill(customers, 40, now)
    MadeTable(root / "lake" / "_rejects" / "customers", customers.table).commit(7)
    hostile = deployment.table("hostile")
    fill(hostile, 3, now - timedelta(hours=2))
    hostile.commit(
        3, note=HOSTILE + "x" * 10_000, run_id=HOSTILE, columns={"id": "int", "x" * 10_000: "string"}
    )
    damaged = deployment.table("damaged")
    fill(damaged, 3, now)
    min((damaged.folder / ".hoodie" / "timeline").glob("*.commit")).write_bytes(b"nonsense")
    lost = deployment.table("lost")
    fill(lost, 2, now)
    max(lost.folder.glob("*.parquet")).unlink()
    changed = deployment.table("changed")
    fill(changed, 2, now)
    file = root / "tables" / "changed.toml"
    file.write_text(file.read_text().replace('"cow"', '"mor"'))
    fresh = deployment.table("fresh")
    shutil.rmtree(fresh.folder)
    (root / "tables" / "broken.toml").write_text(f"table = 1\n{HOSTILE}\n")
    return deployment
