"""The Python of the pages passes `mypy --strict`, as users run it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OTHER_PROGRAMS = re.compile(r"^(import (daft|duckdb|polars)|from hudi import)\b", re.MULTILINE)
"""Programs of `tests/places`, which runs these blocks."""
AIRFLOW = re.compile(r"^from (airflow|ingest\.schedule)\b", re.MULTILINE)


AIRFLOWS = pytest.param(
    ".venv-airflow",
    marks=pytest.mark.skipif(not (ROOT / ".venv-airflow").is_dir(), reason="make .venv-airflow/.stamp"),
)


def examples(environment: str) -> dict[str, str]:
    """Return the blocks of all pages for one environment, by page and number."""
    blocks = {
        f"{page.stem.replace('-', '_')}_{number}": code
        for page in PAGES
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
        if not OTHER_PROGRAMS.search(code)
    }
    with_airflow = "airflow" in environment
    return {name: code for name, code in blocks.items() if bool(AIRFLOW.search(code)) is with_airflow}


@pytest.mark.parametrize("environment", [".venv", AIRFLOWS])
def test_the_pages_are_typed(environment: str, tmp_path: Path) -> None:
    """In another folder: mypy finds `ingest` as an installed package, by its `py.typed`."""
    chosen = examples(environment)
    assert len(chosen) >= 5
    for name, code in chosen.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    python, cache = ROOT / environment / "bin" / "python", ROOT / ".mypy_cache" / "pages" / environment
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    files = [f"{name}.py" for name in chosen]
    result = subprocess.run(
        [*command, "--cache-dir", str(cache), *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
