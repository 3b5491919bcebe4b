"""Write table files without touching a person's edits."""

from pathlib import Path

import attrs

from ingest.onboard.outcome import Onboarded, State
from ingest.settings import Settings
from ingest.tables import merge, render


def _comments(result: Onboarded) -> dict[str, str]:
    """Return the remarks of a new file, by dotted key."""
    remarks = {"target.buckets": result.layout}
    if result.table and result.table.subjects.key:
        remarks["key.columns"] = "from the key subject"
    if result.table and result.table.source_table:
        remarks["key.columns"] = "from the keys of this table's messages, or --key"
    if result.table and result.table.target.readers:
        reason = f"for the readers: {', '.join(result.table.target.readers)}"
        remarks |= {"target.table_version": reason, "types.timestamps": reason}
    if result.caveats:
        remarks["dialect"] = "\n".join(["Caveats:", *(f"- {line}" for line in result.caveats)])
    return remarks


def write_table(settings: Settings, result: Onboarded, *, dry_run: bool) -> Onboarded:
    """Write a new table file, or add missing required keys to an existing one."""
    table = result.table
    if table is None:
        return result
    path = settings.tables_dir / f"{table.name}.toml"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    after = render(table, _comments(result), settings.defaults) if before is None else merge(before, table)
    state: State = "new" if before is None else "unchanged" if after == before else "completed"
    if not dry_run and state != "unchanged":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after, encoding="utf-8")
    if not dry_run and result.guessed and table.schema:
        _write_once(path.parent / table.schema, result.guessed)
    return attrs.evolve(result, state="failed" if result.state == "failed" else state, path=path)


def _write_once(path: Path, text: str) -> None:
    """Write a file, unless it exists."""
    if not path.exists():
        path.write_text(text, encoding="utf-8")
