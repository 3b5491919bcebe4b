"""docs/your-postgres.md, from top to bottom, on a PostgreSQL and a Debezium of its own."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.local.servers import Addresses
from tests.live.database import Database, serve
from tests.live.engine import JARS, wait_until_delivered

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

PAGE = (Path(__file__).parents[2] / "docs" / "your-postgres.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MEASURED = re.compile(r"\b\d+\\\.\d\b")
WAIT_S = 60.0


def blocks(heading: str) -> list[tuple[str, str]]:
    """Return the code blocks below a heading."""
    (text,) = re.findall(rf"^## \d+\. {heading}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    return _BLOCK.findall(text)


def block(heading: str, language: str, number: int = 0) -> str:
    """Return one code block."""
    return [text for name, text in blocks(heading) if name == language][number]


@contextmanager
def debezium(folder: Path, database: Database, servers: Addresses) -> Iterator[None]:
    """Start the page's command with the page's properties, as a person does; end it as Ctrl-D does."""
    text = block("Debezium", "properties").replace("port=5432", f"port={database.port}")
    (folder / "postgres.properties").write_text(local(text, servers))
    command = shlex.split(local(block("Debezium", "sh"), servers))
    command[2] = command[2].replace("../../jars/live", str(JARS))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log)
    try:
        end = time.monotonic() + WAIT_S
        while database.run("select active from pg_replication_slots") != "t\n":
            assert process.poll() is None, (folder / "log").read_text()[-3000:]
            assert time.monotonic() < end
            time.sleep(0.2)
        yield
    finally:
        process.communicate()


def local(text: str, servers: Addresses) -> str:
    """Put the test's addresses in place of the page's."""
    registry = "http://127.0.0.1:22533/apis/ccompat/v7"
    return text.replace(registry, servers.registry_url).replace("127.0.0.1:22002", servers.bootstrap_servers)


def check_console(text: str, folder: Path) -> None:
    """Run each command; `…` stands for lines left out, seconds differ, and so do their columns' widths."""
    for part in text.split("$ ingest ")[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        done = subprocess.run(
            [sys.executable, "-m", "ingest", *shlex.split(command)],
            cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "COLUMNS": "100"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        pattern = r"\n".join(r"(?s:.*?)" if line == "…" else _line(line) for line in expected)
        assert re.fullmatch(pattern, _squeezed(done.stdout)), f"{command}\n{done.stdout}"


def _line(text: str) -> str:
    return _MEASURED.sub(r"[0-9.]+", re.escape(_squeezed(text)))


def _squeezed(text: str) -> str:
    lines = [re.sub(r"─+", "─", re.sub(r" +", " ", line)).strip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")


def test_the_page_runs_from_top_to_bottom(binaries: Path, servers: Addresses, tmp_path: Path) -> None:
    """Its SQL, properties, settings, commands with their output, and its Python, in their order."""
    (tmp_path / "ingest.toml").write_text(local(block("Broker and registry", "toml"), servers))
    with serve(binaries) as database:
        database.run(block("The database", "sql"))
        with debezium(tmp_path, database, servers):
            wait_until_delivered(database)
            onboard, run = (text for name, text in blocks("Tables") if name == "console")
            check_console(onboard, tmp_path)
            with (tmp_path / "tables" / "orders.toml").open("a") as table_file:
                table_file.write(block("Tables", "toml"))
            check_console(run, tmp_path)

            database.run(block("Changes", "sql"))
            wait_until_delivered(database)
            check_console(block("Changes", "console"), tmp_path)
            total = database.rows("select round(sum(total), 4)::text as total from shop.orders")
        code = block("Changes", "python")
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert [["990", total[0][0], "3200"]] == [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[3:4]
        ]
        database.run(block("Clean up", "sql"))
        assert database.run("select count(*) from pg_replication_slots") == "0\n"
