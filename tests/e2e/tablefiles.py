"""Table files changed as a person changes them: with an editor."""

import re

from tests.e2e.deployment import Deployment


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
