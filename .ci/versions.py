"""Run the tests that need no JVM where users are: at the lowest versions, and on each Python.

`python .ci/versions.py` makes an environment for each in build/versions/; an interpreter that is neither on
the PATH nor of pyenv is skipped with a message.  Exits with 1 if any run fails.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
EXTRAS = ("spark", "local", "files", "lineage", "mongodb", "dev")


class Environment(NamedTuple):
    """A Python, and whether its packages are the lowest that pyproject.toml allows."""

    python: str
    is_lowest: bool


ENVIRONMENTS = (Environment("3.11", True), Environment("3.12", False), Environment("3.13", False))  # noqa: FBT003


def main() -> int:
    """Run all environments; return 1 if one fails."""
    return max([_run(environment) for environment in ENVIRONMENTS])


def _run(environment: Environment) -> int:
    name = f"{environment.python}-{'lowest' if environment.is_lowest else 'locked'}"
    python = _interpreter(environment.python)
    if python is None:
        print(f"{name}: skipped, python{environment.python} is not installed", flush=True)
        return 0
    folder = ROOT / "build" / "versions" / name
    print(f"{name}: {python}", flush=True)
    subprocess.run([python, "-m", "venv", "--without-pip", "--clear", folder], check=True)
    uv = {**os.environ, "VIRTUAL_ENV": str(folder)}
    requirements = (
        _lowest(folder, environment.python) if environment.is_lowest else ROOT / "requirements.lock"
    )
    subprocess.run([UV, "pip", "sync", "-q", requirements], env=uv, check=True)
    editable = ["--no-deps", "--no-build-isolation", "-e", ROOT]
    subprocess.run([UV, "pip", "install", "-q", *editable], env=uv, check=True)
    tests = [folder / "bin" / "pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark and not servers"]
    return int(subprocess.run(tests, cwd=ROOT, check=False).returncode != 0)


def _lowest(folder: Path, python: str) -> Path:
    """Resolve the lowest direct dependencies."""
    chosen = folder / "requirements.txt"
    extras = [argument for extra in EXTRAS for argument in ("--extra", extra)]
    how = ["--resolution", "lowest-direct", "--python-version", python]
    command = [UV, "pip", "compile", "-q", *how, *extras, ROOT / "pyproject.toml", "-o", chosen]
    subprocess.run(command, check=True)
    return chosen


def _interpreter(version: str) -> str | None:
    """Return the path of a Python, from the PATH or the newest of pyenv."""
    by_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(by_pyenv[-1]) if by_pyenv else shutil.which(f"python{version}")


if __name__ == "__main__":
    sys.exit(main())
