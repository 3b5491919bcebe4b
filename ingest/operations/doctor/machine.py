"""Java, packages, jars, memory and disk of this machine, without starting a JVM or downloading a jar."""

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from ingest.jars import job_jars
from ingest.jars.artifacts import Artifacts, cache_folder, find_artifacts
from ingest.jars.pins import megabytes
from ingest.jars.repository import find_repository
from ingest.operations.doctor.finding import Finding, Level
from ingest.settings import Settings
from ingest.spark.jdk import NEWEST, OLDEST, TESTED, find_java
from ingest.spark.master import is_local

SPARK: Final = "3.5"
DEFAULT_MEMORY: Final = "2g"
"""Spark's driver, if the settings leave it open (`spark.session.LOCAL_DEFAULTS`)."""
OFF_HEAP: Final = 512 << 20
"""Bytes that a JVM needs besides its heap, at least."""
DISK_MIN: Final = 1 << 30
DISK_LOW: Final = 5 << 30
CGROUPS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
MEMINFO: Final = Path("/proc/meminfo")
_JARS: Final = ("hudi-spark3.5-bundle", "spark-sql-kafka-0-10", "kafka-clients", "ingest-functions")
_UNITS: Final[Mapping[str, int]] = {"": 1 << 20, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)


def check_versions() -> Iterator[Finding]:
    """Report the versions, and packages that are missing or exclude each other."""
    ours, python = metadata.version("hudi-cdc-ingest"), ".".join(map(str, sys.version_info[:3]))
    yield Finding("ingest", "ok", f"{ours}, on Python {python}")
    install = "pip install 'hudi-cdc-ingest[spark]'"
    pyspark, client = _version_of("pyspark") or job_jars.pyspark_version(), _version_of("pyspark-client")
    if not pyspark:
        yield Finding("pyspark", "problem", "is not installed", install)
    elif client is not None:
        text = f"pyspark-client {client} is installed too, and overwrites files of pyspark {pyspark}"
        todo = "Uninstall both, then install ingest in an environment of its own"
        yield Finding("pyspark", "problem", text, todo)
    elif not pyspark.startswith(f"{SPARK}."):
        yield Finding("pyspark", "problem", f"{pyspark}; the jars are for Spark {SPARK}", install)
    else:
        yield Finding("pyspark", "ok", pyspark)


def check_bytecode() -> Iterator[Finding]:
    """Report modules of packages that Python compiles at each start, because it keeps no bytecode of them."""
    packages = sysconfig.get_path("purelib")
    names = [name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names]
    specs = [getattr(sys.modules[name], "__spec__", None) for name in names]
    files = [file for spec in specs if (file := getattr(spec, "cached", None))]
    kept = [Path(file).exists() for file in files]
    if kept.count(False) > len(kept) // 2:
        text = f"Python compiles {kept.count(False)} of {len(kept)} modules at each start"
        yield Finding("bytecode", "warning", text, f"Run `{sys.executable} -m compileall -q {packages}`")
    else:
        yield Finding("bytecode", "ok", f"of the packages in {packages}")


def check_java() -> Iterator[Finding]:
    """Find the Java that would start Spark."""
    java = find_java()
    text = f"{java.version}, {java.program}"
    todo = f"Install Java {TESTED}, or set JAVA_HOME to it"
    if not OLDEST <= java.version <= NEWEST:
        yield Finding("java", "problem", f"{text}; Spark runs on Java {OLDEST} to {NEWEST}", todo)
    elif java.version != TESTED:
        yield Finding("java", "warning", f"{text}; tested with Java {TESTED}", todo)
    else:
        yield Finding("java", "ok", text)


def check_jars(settings: Settings) -> Iterator[Finding]:
    """Look for the jars that a run loads, without a download."""
    present = job_jars.platform_artifacts(settings.spark)
    if present:
        yield Finding("jars", "ok", f"of {job_jars.spark_home()}: {', '.join(sorted(present))}")
    folder = settings.spark.jars
    if folder is None:
        yield from check_pinned_jars(find_artifacts(), settings.spark.repository, present)
        return
    names = [path.name for path in folder.glob("*.jar")]
    needed = set(_JARS) - set(present)
    missing = [jar for jar in _JARS if jar in needed and not any(name.startswith(jar) for name in names)]
    if missing:
        todo = f"Run `ingest jars fetch --to {folder}`, or remove [spark] jars"
        yield Finding("jars", "problem", f"{folder} lacks {', '.join(missing)}", todo)
    else:
        yield Finding("jars", "ok", f"{len(names)} in {folder} ([spark] jars)")


def check_pinned_jars(
    artifacts: Artifacts, repository: str, present: Collection[str] = ()
) -> Iterator[Finding]:
    """Look for the jars of a checkout, or those that an installed package has fetched.

    Jars of the artifacts that are `present` elsewhere are not needed.
    """
    artifacts.functions()
    folder = artifacts.pinned(present)
    missing = folder.incomplete()
    if not missing:
        hudi = [f", with Hudi {jar.version}" for jar in folder.jars if jar.file.startswith("hudi-")]
        yield Finding("jars", "ok", f"in {folder.path}{''.join(hudi)}")
    elif artifacts.sources is not None:
        yield Finding("jars", "problem", f"{folder.path} lacks {missing[0].file}", "Run `make jars`")
    else:
        size = megabytes(sum(jar.size for jar in missing))
        source = find_repository(repository).shown
        text = f"{len(missing)} are not fetched yet: the first run gets {size} from {source}"
        yield Finding("jars", "warning", text, "Run `ingest jars fetch`")


def check_memory(settings: Settings) -> Iterator[Finding]:
    """Compare the driver's memory with the machine's, or its container's."""
    if not is_local(settings.spark.master):
        yield Finding("memory", "skipped", f"[spark] master is {settings.spark.master}")
        return
    heap = parse_size(settings.spark.conf.get("spark.driver.memory", DEFAULT_MEMORY))
    limit, source = memory_limit()
    if heap is None or limit is None:
        yield Finding("memory", "skipped", "the limit is unknown")
        return
    text = f"{_size(heap)} for Spark's driver, of {_size(limit)} {source}"
    if heap + OFF_HEAP > limit:
        todo = 'Lower [spark.conf] "spark.driver.memory", or give the process more: the kernel may end it'
        yield Finding("memory", "problem", text, todo)
    else:
        yield Finding("memory", "ok", text)


def memory_limit() -> tuple[int | None, str]:
    """Return the smaller of the available memory and the container's limit, in bytes, and its name."""
    limits = []
    match = re.search(r"MemAvailable:\s+(\d+) kB", _read(MEMINFO))
    if match:
        limits.append((int(match[1]) * 1024, "available"))
    for path in CGROUPS:
        text = _read(path).strip()
        if text.isdigit():
            limits.append((int(text), "of this container"))
    return min(limits, default=(None, ""))


def check_disk(settings: Settings) -> Iterator[Finding]:
    """Report the free space of each file system that a run writes to."""
    local = Path(settings.lake.path.removeprefix("file:")) if _is_local(settings.lake.path) else None
    folders = {
        "lake": local,
        "Spark's scratch folder": Path(os.environ.get("SPARK_LOCAL_DIRS", gettempdir()).split(",")[0]),
        "cache": cache_folder(),
    }
    devices: dict[int, list[str]] = {}
    for name, folder in folders.items():
        if folder is not None:
            path = existing(folder)
            names = devices.setdefault(path.stat().st_dev, [str(path)])
            names.append(name)
    for path_of_device, *names in devices.values():
        free = shutil.disk_usage(path_of_device).free
        text = f"{_size(free)} free for {', '.join(names)}"
        level: Level = "problem" if free < DISK_MIN else "warning" if free < DISK_LOW else "ok"
        todo = "" if level == "ok" else f"Free some space on the file system of {path_of_device}"
        yield Finding("disk", level, text, todo)


def existing(folder: Path) -> Path:
    """Return a folder, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def parse_size(text: str) -> int | None:
    """Read a size as Spark does, in MiB without a unit, or return None for another text."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * _UNITS[match[2].lower()] if match else None


def _is_local(path: str) -> bool:
    return path.startswith(("/", "file:/"))


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB"


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
