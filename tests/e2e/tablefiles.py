"""Edits of table files, as a user makes them in an editor."""

import re
from collections.abc import Mapping
from pathlib import Path

from ingest.testing.deployment import Deployment


def add_text(deployment: Deployment, table: str, text: str) -> None:
    """Append lines to a table file."""
    path = deployment.root / "tables" / f"{table}.toml"
    path.write_text(f"{path.read_text()}\n{text}\n")


def copy_table(deployment: Deployment, table: str, name: str, **values: str) -> None:
    """Write a second table over the same topic; `values` are TOML, by key."""
    folder = deployment.root / "tables"
    text = (folder / f"{table}.toml").read_text()
    for key, value in {"table": f'"{name}"', **values}.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count == 1, f"{key} is in the file {count} times"
    (folder / f"{name}.toml").write_text(text)


def set_policies(deployment: Deployment, table: str, policies: Mapping[str, str]) -> None:
    """Set `[evolution]` policies in a table file."""
    path = deployment.tables / f"{table}.toml"
    lines = "".join(f'{kind} = "{policy}"\n' for kind, policy in policies.items())
    text = path.read_text()
    assert text.count("[evolution]\n") == 1
    path.write_text(text.replace("[evolution]\n", f"[evolution]\n{lines}"))


def allow_rejects(deployment: Deployment, *tables: str) -> None:
    """Allow any share of rejects in the named table files, or in all of them."""
    paths = [deployment.tables / f"{table}.toml" for table in tables] or deployment.tables.glob("*.toml")
    for path in paths:
        text = path.read_text()
        assert text.count("max_share = 0.01\n") == 1
        path.write_text(text.replace("max_share = 0.01\n", "max_share = 1.0\n"))


def allow_no_rejects(deployment: Deployment, table: str) -> None:
    """Let the first reject stop a table that reads fewer than a hundred messages."""
    path = deployment.tables / f"{table}.toml"
    text = path.read_text()
    assert text.count("min_rows = 10\n") == 1
    path.write_text(text.replace("min_rows = 10\n", "min_rows = 0\n"))


def add_catalog(root: Path) -> Path:
    """Name an Iceberg catalog in the settings of a deployment; return its folder."""
    folder = root / "iceberg"
    folder.mkdir()
    with (root / "ingest.toml").open("a") as settings:
        settings.write(f"""
[iceberg]
catalog = "lake"
[iceberg.properties]
type = "sql"
uri = "sqlite:///{folder}/catalog.db"
warehouse = "{folder}"
""")
    return folder
