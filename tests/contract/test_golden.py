"""Golden files: what `ingest schema show` says of every recorded schema, kept beside it."""

import json
from pathlib import Path

import pytest

from ingest.cli.app import call

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"
SCHEMAS = sorted(FIXTURES.glob("*/*/v*.avsc"))


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_command_says_what_it_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change here is a change of what users get: `make golden` writes the files anew; look at the diff."""
    version = path.stem.removeprefix("v")
    folder = path.parents[1]
    arguments = [
        "schema",
        "show",
        path.parent.name,
        "--version",
        version,
        "--registry",
        str(folder),
        "--json",
    ]
    assert call(arguments) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.with_suffix(".expected.json").read_text())
