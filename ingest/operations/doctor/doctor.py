"""Examine a deployment: settings, machine, registry, broker and lake, without starting a JVM unless asked."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from ingest.errors import SettingsError
from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.locks import lock
from ingest.json_values import JsonValue
from ingest.operations.doctor import machine, services, sources
from ingest.operations.doctor.finding import LEVELS, Check, Finding, findings_of, problems_of
from ingest.operations.doctor.lake import check_clock, check_lake
from ingest.registry import Registry
from ingest.settings import Settings, exposed_files
from ingest.spark.hadoop_settings import hadoop_settings
from ingest.tables import TableConfig, read_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Note = Callable[[str], None]
LOCK_NAME = "_doctor"


@attrs.frozen
class Checkup(JsonValue):
    """The findings, in the order of the checks."""

    json_keys = "outcome checks=findings"

    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether no finding is a problem.  A warning is not a problem."""
        return not any(finding.level == "problem" for finding in self.findings)

    @property
    def outcome(self) -> str:
        """`healthy` or `problems`."""
        return "healthy" if self.is_healthy else "problems"

    def counts(self) -> dict[str, int]:
        """Return the number of findings by level."""
        return {level: sum(finding.level == level for finding in self.findings) for level in LEVELS}


class Patient(Protocol):
    """A deployment under examination: the part of `ingest.Session` that the checks use."""

    settings: Settings

    @property
    def registry(self) -> Registry:
        """The registry."""

    @property
    def spark(self) -> "SparkSession":
        """The Spark session, started at first use."""

    def tables(self) -> tuple[TableConfig, ...]:
        """Read all table files."""


def examine(patient: Patient, note: Note, *, spark: bool = False) -> Checkup:
    """Run every check.  `note` gets the name of each before it starts."""
    settings = patient.settings
    tables_found, tables = _read_tables(patient)
    files = LakeFiles(settings.lake, hadoop_settings(settings.spark.conf))
    checks: dict[str, Check] = {
        "settings": lambda: _check_settings(settings),
        "tables": lambda: tables_found,
        **_machine_checks(settings),
        "lake": lambda: check_lake(settings, files),
        "clock": lambda: check_clock(settings, tables),
        "registry": lambda: services.check_registry(settings, patient.registry, tables),
        "broker": lambda: services.BrokerCheck(settings, tables, files).findings(),
    }
    if spark:
        checks["spark"] = lambda: _check_spark(patient)
        checks["source"] = lambda: sources.check_sources(settings, patient.spark)
    elif settings.sources:
        checks["source"] = _skip_sources
    return _run(checks, note)


def examine_machine(error: SettingsError, tables_dir: Path, note: Note) -> Checkup:
    """Run the checks that are possible without settings, because these have errors."""
    checks: dict[str, Check] = {
        "settings": lambda: problems_of("settings", error),
        "tables": lambda: _check_tables(tables_dir, lambda: read_all(tables_dir)),
        **_machine_checks(Settings()),
    }
    return _run(checks, note)


def _run(checks: dict[str, Check], note: Note) -> Checkup:
    findings: list[Finding] = []
    for name, check in checks.items():
        note(name)
        findings += findings_of(name, check)
    return Checkup(tuple(findings))


def _machine_checks(settings: Settings) -> dict[str, Check]:
    return {
        "ingest": machine.check_versions,
        "bytecode": machine.check_bytecode,
        "java": machine.check_java,
        "jars": lambda: machine.check_jars(settings),
        "memory": lambda: machine.check_memory(settings),
        "disk": lambda: machine.check_disk(settings),
    }


def _check_settings(settings: Settings) -> Iterator[Finding]:
    """Report the settings file, and secrets that other users of the machine can read."""
    yield Finding("settings", "ok", settings.source)
    file = Path(settings.source)
    exposed = exposed_files(settings, file if file.is_absolute() else None)
    for path in exposed:
        text = f"{path} holds secrets, and every user of this machine can read it"
        yield Finding("secrets", "problem", text, f"Run `chmod o-r {path}`")
    if not exposed:
        yield Finding("secrets", "ok", "other users of this machine cannot read them")


def _read_tables(patient: Patient) -> tuple[list[Finding], tuple[TableConfig, ...]]:
    tables: list[TableConfig] = []

    def read() -> Sequence[TableConfig]:
        tables.extend(patient.tables())
        return tables

    folder = patient.settings.tables_dir
    return list(findings_of("tables", lambda: _check_tables(folder, read))), tuple(tables)


def _check_tables(folder: Path, read: Callable[[], Sequence[TableConfig]]) -> Iterator[Finding]:
    if any(folder.glob("*.toml")):
        yield Finding("tables", "ok", f"{len(read()):,} in {folder}")
    else:
        text, todo = f"{folder} has no table file yet", "Run `ingest onboard 'PATTERN'`"
        yield Finding("tables", "warning", text, todo)


def _skip_sources() -> Iterator[Finding]:
    yield Finding("source", "skipped", "databases are asked with Spark's JVM: `ingest doctor --spark`")


def _check_spark(patient: Patient) -> Iterator[Finding]:
    """Start Spark, and take and release a lock in the lake."""
    version = patient.spark.version
    yield Finding("spark", "ok", f"{version} starts, with Hudi's classes")
    with lock.locked(patient.spark, patient.settings.lake, LOCK_NAME, "doctor", 0.0):
        pass
    yield Finding("lock", "ok", f"{patient.settings.lake.lock_path(LOCK_NAME)} was taken and released")
