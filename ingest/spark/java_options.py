"""The options of a JVM that is started here: ingest's, unless the user's serve the same purpose."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs

from ingest.spark.class_archive import ClassArchive

DRIVER_OPTIONS: Final = "spark.driver.extraJavaOptions"
EXECUTOR_OPTIONS: Final = "spark.executor.extraJavaOptions"
LOG4J: Final = Path(__file__).with_name("log4j2.properties")
HUGE_METHODS: Final = "-XX:-DontCompileHugeMethods"
"""HotSpot compiles no method above 8,000 bytes of bytecode, and Spark generates larger ones for wide tables
(SPARK-21871): interpreted, they are four times slower.  A JVM that is started here compiles them."""


@attrs.frozen
class JavaOption:
    """Options that ingest adds, and texts in the user's options that serve the same purpose."""

    text: str
    purposes: tuple[str, ...]

    def is_needed(self, options: str) -> bool:
        """Whether the user's options leave the purpose open."""
        return not any(purpose in options for purpose in self.purposes)


TIME_ZONE: Final = JavaOption("-Duser.timezone=UTC", ("-Duser.timezone",))
"""Hudi names commits after the time in the JVM's zone, unless the table says UTC."""
COMPILE_HUGE: Final = JavaOption(HUGE_METHODS, ("CompileHugeMethods",))
NO_PROBES: Final = JavaOption("-Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true", ("-Djol.",))
"""Hudi estimates the size of records with JOL, which starts up to eight more JVMs to attach to this one.
That fails if ptrace is restricted.  JOL then measures objects itself, as it does with these properties."""
END_WITHOUT_MEMORY: Final = JavaOption("-XX:+ExitOnOutOfMemoryError", ("OnOutOfMemoryError",))
"""After an OutOfMemoryError any thread of Spark may be gone, and a job waits forever (SPARK-27900,
SPARK-47279).  Spark on YARN ends its executors in the same way
(YarnSparkHadoopUtil.addOutOfMemoryErrorArgument)."""
LOGGING: Final = JavaOption(f"-Dlog4j2.configurationFile={LOG4J.as_uri()}", ("log4j",))
FIRST_TIER: Final = JavaOption("-XX:TieredStopAtLevel=1", ("Tiered", "-Xint", "-Xcomp"))
"""Without HotSpot's optimising compiler: it costs a short run more than it saves."""
CODE_CACHE: Final = JavaOption("-XX:ReservedCodeCacheSize=240m", ("ReservedCodeCacheSize",))
"""HotSpot reserves as much for both compilers, and 48 MB for the first one alone.  The code of 80 tables
fills these: HotSpot then drops code, compiles it again, and may stop compiling."""
SERIAL: Final = JavaOption("-XX:+UseSerialGC", ("GC",))
"""Without the threads of a parallel collector, for the same reason."""
PARALLEL: Final = JavaOption("-XX:+UseParallelGC", ("GC",))
"""HotSpot's default, G1, gives throughput for short pauses.  A run wants throughput."""

ENVIRONMENT: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Java's own variables.  A JVM does not start with the names of two collectors."""

TUNED: Final = (COMPILE_HUGE, NO_PROBES)
"""Faster code and starts.  Results are the same without them."""
EXECUTOR: Final = (TIME_ZONE,)
DRIVER: Final = (TIME_ZONE, END_WITHOUT_MEMORY, LOGGING)
SHORT: Final = (FIRST_TIER, CODE_CACHE, SERIAL)
LONG: Final = (PARALLEL,)


def driver_options(
    options: str, archive: ClassArchive | None, *, is_short: bool, is_tuned: bool = True
) -> str:
    """Add ingest's options to the user's for a driver.  `is_short` if it ends after little work."""
    added = _add(options, (*_tuned(options, is_short=is_short, is_tuned=is_tuned), *DRIVER))
    return " ".join(filter(None, (archive.options() if archive else "", added)))


def executor_options(options: str, *, is_short: bool, is_tuned: bool = True) -> str:
    """Add ingest's options to the user's for the executors of a cluster."""
    return _add(options, (*EXECUTOR, *_tuned(options, is_short=is_short, is_tuned=is_tuned)))


def _tuned(options: str, *, is_short: bool, is_tuned: bool) -> Iterator[JavaOption]:
    """Return what makes this JVM faster, unless the user's options or variables say otherwise."""
    named = " ".join((options, *(os.environ.get(name, "") for name in ENVIRONMENT)))
    tuned = (*TUNED, *(SHORT if is_short else LONG)) if is_tuned else ()
    return (option for option in tuned if option.is_needed(named))


def _add(options: str, own: Iterable[JavaOption]) -> str:
    return " ".join((*(option.text for option in own if option.is_needed(options)), options)).strip()
