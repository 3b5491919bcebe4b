"""Run reports as `ingest run --report` writes them, and programs that write them."""

import json
from typing import Any

RUN_ID = "0c1b"
COMMITTED_AT = "2026-11-21T12:00:01Z"


def table(
    name: str, outcome: str = "committed", error: str | None = None, upserted: int = 3
) -> dict[str, Any]:
    """Return a table's part of a report."""
    done = outcome == "committed"
    return {
        "table": name,
        "outcome": outcome,
        "instant": "20261121120000000" if done else None,
        "topic": f"srv.db.{name}",
        "offsets": {"from": {"0": 0}, "to": {"0": 5}},
        "read": 5 if done else 0,
        "applied": {"upserted": upserted if done else 0, "deleted": 1 if done else 0},
        "superseded": 1 if done else 0,
        "ignored": {},
        "rejected": 0,
        "schema_ids": [1],
        "schema_changes": [],
        "max_source_ts": None,
        "seconds": 1.5,
        "metrics": {"last_commit_at": COMMITTED_AT},
        "error": error,
    }


def report(*tables: dict[str, Any]) -> dict[str, Any]:
    """Return a report; its outcome is the worst of its tables."""
    outcomes = {table["outcome"] for table in tables}
    outcome = "failed" if "failed" in outcomes else "temporary" if "temporary" in outcomes else "done"
    return {
        "run_id": RUN_ID,
        "started_at": "2026-11-21T12:00:00Z",
        "finished_at": "2026-11-21T12:00:02Z",
        "outcome": outcome,
        "tables": list(tables),
    }


def script(code: int = 0, written: Any = None, says: str = "") -> str:
    """Return a program that stores its call in `called.json`, prints, writes a report and exits.

    A report given as text is written unchanged.
    """
    text = written if isinstance(written, str) or written is None else json.dumps(written)
    return f"""
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
call = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}
(here / "called.json").write_text(json.dumps(call))
sys.stdout.write({says!r})
sys.stdout.flush()
text = {text!r}
if text is not None:
    pathlib.Path(sys.argv[sys.argv.index("--report") + 1]).write_text(text)
sys.exit({code})
"""
