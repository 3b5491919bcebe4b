"""docs/start.md and docs/your-postgres.md, from top to bottom, as a person types them."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.database import Database, serve
from tests.live.engine import JARS, wait_until_delivered
from tests.live.typed import DOCS, Shell, read_block, read_blocks, run_ingest

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

TOUR, POSTGRES = "start.md", "your-postgres.md"
WAIT_S = 60.0


@contextmanager
def local_servers(folder: Path) -> Iterator[Shell]:
    """Start servers on free ports in place of the page's; yield a shell in the folder."""
    try:
        addresses = json.loads(run_ingest(folder, "local up --json"))
        yield Shell(folder, addresses["registry_url"], addresses["bootstrap_servers"])
    finally:
        run_ingest(folder, "local down")


@contextmanager
def debezium(shell: Shell, database: Database) -> Iterator[None]:
    """Start the page's command with the page's properties; end it as Ctrl-D does."""
    text = read_block(POSTGRES, "Debezium", "properties").replace("port=5432", f"port={database.port}")
    (shell.folder / "postgres.properties").write_text(shell.local(text))
    command = shlex.split(shell.local(read_block(POSTGRES, "Debezium", "sh")))
    command[2] = command[2].replace("../../jars/live", str(JARS))
    log = shell.folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=shell.folder, stdin=subprocess.PIPE, stdout=output, stderr=output
        )
    try:
        end = time.monotonic() + WAIT_S
        while database.run("select active from pg_replication_slots") != "t\n":
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < end
            time.sleep(0.2)
        yield
    finally:
        process.communicate()


def test_the_tour_runs_from_top_to_bottom(tmp_path: Path) -> None:
    """Its servers, commands with their output, and Python, in their order."""
    (tmp_path / "registry_fixtures").symlink_to(DOCS.parent / "registry_fixtures")
    folder = tmp_path / ".ingest" / "tour"
    folder.mkdir(parents=True)
    shown = ""
    with local_servers(folder) as shell:
        for language, text in read_blocks(TOUR, "The tour"):
            if language == "console":
                shell.check(text)
            elif language == "python":
                shown = subprocess.run(
                    [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=True
                ).stdout
            elif language == "text":
                assert text in shown


def test_the_page_on_postgres_runs_from_top_to_bottom(binaries: Path, tmp_path: Path) -> None:
    """Its SQL, properties, commands with their output, and its Python, in their order."""
    with local_servers(tmp_path) as shell, serve(binaries) as database:
        for number in range(2):
            shell.check(read_block(POSTGRES, "Broker and registry", "console", number))
        database.run(read_block(POSTGRES, "The database", "sql"))
        with debezium(shell, database):
            wait_until_delivered(database)
            shell.check(read_block(POSTGRES, "Tables", "console", 0))
            with (tmp_path / "tables" / "orders.toml").open("a") as table_file:
                table_file.write(read_block(POSTGRES, "Tables", "toml"))
            shell.check(read_block(POSTGRES, "Tables", "console", 1))
            database.run(read_block(POSTGRES, "Changes", "sql"))
            wait_until_delivered(database)
            shell.check(read_block(POSTGRES, "Changes", "console"))
            ((total,),) = database.rows("select sum(total)::numeric(20,4)::text as total from shop.orders")
        assert printed_row(tmp_path) == ["990", total, "3200"]
        database.run(read_block(POSTGRES, "Clean up", "sql"))
        assert database.run("select count(*) from pg_replication_slots") == "0\n"


def printed_row(folder: Path) -> list[str]:
    """Run the page's Python and return the row that it shows."""
    code = read_block(POSTGRES, "Changes", "python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return [cell.strip() for cell in done.stdout.splitlines()[3].split("|")[1:-1]]
