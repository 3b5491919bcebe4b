"""Draw the pictures of the pages and of the commands: `python -m tests.browser.picture docs/_static`.

The pages are those of a deployment whose lake, topics and runs are made, on a real broker.
"""

import fcntl
import html
import os
import pty
import random
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    NewTopic,
)

from ingest import Session
from ingest.errors import EvolutionError, IngestError
from ingest.local import servers
from ingest.local.topics import create_topics
from ingest.moments import to_millis
from ingest.names import HEARTBEATS, Topic
from ingest.operations.pages.render import Site
from ingest.operations.pages.write import write_pages
from ingest.operations.status.last_verification import LastVerification, write_last
from ingest.report.kept_runs import keep
from ingest.report.outcome import RunReport, TableOutcome, failed
from tests.browser.chromium import chromium
from tests.lakes import MadeDeployment

SOURCES = {
    "shop": ("shop.public", {"orders": 1_203_442, "order_items": 3_904_118, "payments": 990_007}),
    "crm": ("crm.sales.dbo", {"accounts": 41_002, "contacts": 120_034, "opportunities": 18_776}),
    "erp": ("erp.stock", {"articles": 96_550, "movements": 2_410_663, "locations": 310}),
}
SILENT_S = {"shop": 4, "crm": 42 * 60, "erp": 11}
"""The age of each connector's newest heartbeat."""
CHANGED = EvolutionError("payments", "amount", "column-changed", "string", "decimal(12,2)", "v4")


@attrs.frozen
class Scene:
    """A deployment whose tables have a day of commits and runs."""

    deployment: MadeDeployment
    kafka: str
    now: datetime
    chance: random.Random = attrs.Factory(lambda: random.Random(7))  # noqa: S311  made data

    def make(self) -> None:
        """Make all tables, their topics, their runs and their proofs."""
        names: list[str] = []
        for source, (prefix, tables) in SOURCES.items():
            self.send(f"{HEARTBEATS}.{source}", SILENT_S[source])
            for name, rows in tables.items():
                self.table(name, Topic(f"{prefix}.{name}"), rows, SILENT_S[source])
                names.append(name)
        self.runs(names)
        for number, name in enumerate(names):
            if name != "locations":
                self.prove(name, timedelta(minutes=41 + 17 * number), 51 if name == "movements" else 0)

    def table(self, name: str, topic: Topic, rows: int, age_s: float) -> None:
        """Make a table with a first load and a commit for each half hour, and one message in its topic."""
        self.send(topic, age_s)
        made = self.deployment.table(name, topic=topic)
        made.now = self.now - timedelta(minutes=30 * 23 + 4)
        for number in range(24):
            changed = rows if number == 0 else int(rows * self.chance.uniform(0.0002, 0.004))
            counters = {"read": changed, "upserted": changed, "deleted": changed // 15 if number else 0}
            made.commit(
                rows, after=timedelta(minutes=30 if number else 0), counters=counters, to=1,
                max_source_ms=to_millis(self.now) - round(age_s * 1000),
            )  # fmt: skip

    def send(self, topic: str, age_s: float) -> None:
        """Create a topic with a message of an age."""
        admin = AdminClient({"bootstrap.servers": self.kafka})
        create_topics(admin, [NewTopic(topic, 1, 1)])
        producer = Producer({"bootstrap.servers": self.kafka})
        producer.produce(topic, b"{}", timestamp=round((time.time() - age_s) * 1000))
        producer.flush()

    def runs(self, names: list[str]) -> None:
        """Keep a run for each half hour, with failures now and then."""
        for number in range(30):
            at = self.now - timedelta(minutes=30 * (29 - number) + 4)
            outcomes = [self.outcome(name, number) for name in names]
            report = RunReport(f"{number:08x}-0000", at, at + timedelta(seconds=48), tuple(outcomes))
            keep(self.deployment.root / ".ingest" / "state", report, 300)

    def outcome(self, name: str, number: int) -> TableOutcome:
        """Return the outcome of a table in a run."""
        error: IngestError | None = CHANGED if name == "payments" and number > 26 else None
        if error is not None:
            return failed(name, Topic("t"), error, 2.0)
        idle = self.chance.random() < (0.8 if name == "locations" else 0.1)
        return TableOutcome(name, Topic("t"), "idle" if idle else "committed", seconds=2.0)

    def prove(self, name: str, age: timedelta, different: int) -> None:
        """Store a comparison of all rows."""
        verification = LastVerification(
            finished_at=self.now - age, outcome="different" if different else "equal", mode="checksums",
            source="erp", counts={"different": different},
        )  # fmt: skip
        write_last(self.deployment.root / ".ingest" / "state", name, verification)


TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #1e1e24; width: max-content }}
pre {{ margin: 0; padding: 18px 22px; font: 14px/1.45 "DejaVu Sans Mono", monospace; color: #e6e6ea }}
b {{ color: #8ad6a2; font-weight: normal }}
</style><pre>{text}</pre>"""
WIDTH, LINES = 125, 28
COMMANDS = {"status": ["status"], "runs": ["runs"], "show": ["show", "payments"]}
"""The commands whose output is drawn, by the name of the picture."""


def terminal(deployment: Path, command: list[str]) -> str:
    """Run a command in a deployment, and return the page of a terminal with the beginning of its output."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", *command],
        cwd=deployment, stdout=its, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    os.close(its)
    with os.fdopen(ours, errors="replace") as stream:
        shown = _until_closed(stream)
    _, errors = process.communicate()
    lines = map(html.escape, (*shown[:LINES], *errors.splitlines()))
    return TERMINAL.format(text="\n".join((f"<b>$ ingest {' '.join(command)}</b>", *lines)))


def _until_closed(stream: Iterable[str]) -> list[str]:
    """Read the lines of a terminal.  Linux reports its end as an error."""
    lines: list[str] = []
    with suppress(OSError):
        lines.extend(line.rstrip() for line in stream)
    return lines


def main(folder_of_pictures: Path) -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        addresses, now = servers.up(root / "servers"), datetime.now(UTC)
        try:
            kafka = addresses.bootstrap_servers
            settings = f'[registry]\nurl = "{root}"\n[kafka]\nbootstrap_servers = "{kafka}"\n'
            deployment = MadeDeployment(root / "deployment", settings)
            Scene(deployment, kafka, now).make()
            with Session.open(deployment.root / "ingest.toml") as session:
                lake = session.report_html(root / "www")
            shown = {name: terminal(deployment.root, command) for name, command in COMMANDS.items()}
        finally:
            servers.down(root / "servers")
        site = Site("production", "s3a://lake/production", "/etc/ingest/ingest.toml", datetime.now(UTC), ())
        index = write_pages(root / "www", lake, site)
        with chromium(root / "profile") as browser:
            tab = browser.open()
            pages = {"pages": index, "table": index.parent / "table" / "payments.html"}
            for name, text in shown.items():
                pages[name] = root / f"{name}.html"
                pages[name].write_text(text, encoding="utf-8")
            for name, page in pages.items():
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace(str(root), "/srv/ingest"), encoding="utf-8")
                tab.show(page, width=1280, height=100)
                tab.screenshot(folder_of_pictures / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
