"""The only place that configures logging: lines for people on a terminal, JSON lines elsewhere.

Everything goes to stderr, so that stdout stays for the output of commands.
"""

import logging
import os
import sys
from collections.abc import Collection, Mapping
from typing import Any, Final, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import FilteringBoundLogger, Processor

from ingest.errors import printable

PROGRESS: Final = "ingest.progress"
"""The logger of lines that show a command at work."""
_CHATTY: Final = ("httpx", "httpx2", "httpcore", "httpcore2", "authlib", "py4j")
"""Loggers that report every request, token or gateway call at INFO."""


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current `sys.stderr`: a spinner replaces that, to keep lines apart from itself."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self.stream = sys.stderr
        super().emit(record)


def logger(name: str) -> FilteringBoundLogger:
    """Return the logger of a module: `logger(__name__).info("committed", table=…)`.

    In a library, without `configure`, it writes to the application's own `logging`.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
            logger_factory=structlog.stdlib.LoggerFactory(),
        )
    bound: FilteringBoundLogger = structlog.get_logger(name)
    return bound


def log_progress(event: str, **values: Any) -> None:
    """Log a line of level info that shows a command at work, at every level of the log except `error`."""
    bound = structlog.wrap_logger(
        logging.getLogger(PROGRESS), wrapper_class=structlog.make_filtering_bound_logger("info")
    )
    bound.info(event, **values)


def configure(level: str = "warning", *, secrets: Collection[str] = (), stream: TextIO | None = None) -> None:
    """Set up the process's logging.  `secrets` (see `Settings.secrets`) show as `***` everywhere."""
    out = sys.stderr if stream is None else stream
    first: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Processor] = [
        ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        lambda _logger, _method, event: {key: _shown(event[key], secrets) for key in event},
        # plain_traceback: the default one shows local variables, and so secrets
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if out.isatty()
        else structlog.processors.JSONRenderer(),
    ]
    structlog.configure(
        processors=[*first, ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )
    handler = StderrHandler() if stream is None else logging.StreamHandler(stream)
    handler.setFormatter(ProcessorFormatter(processors=last, foreign_pre_chain=first))
    # py4j logs each call to a JVM that has ended, with traceback, even at the root (py4j/py4j#457).
    if level != "debug":
        handler.addFilter(lambda record: f"{os.sep}py4j{os.sep}" not in record.pathname)
    _install(handler, level)


def _install(handler: logging.Handler, level: str) -> None:
    """Put a handler of `configure` at the root, in place of its previous one."""
    root = logging.getLogger()
    for old in [h for h in root.handlers if type(h.formatter) is type(handler.formatter)]:
        root.removeHandler(old)
    root.addHandler(handler)
    logging.getLogger("ingest").setLevel(level.upper())
    logging.getLogger(PROGRESS).setLevel("INFO" if level == "warning" else level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


def _shown(value: Any, secrets: Collection[str]) -> Any:
    value = masked(value, secrets)
    return printable(value) if isinstance(value, str) else value


def masked(value: Any, secrets: Collection[str]) -> Any:
    """Replace secrets in texts at any depth.

    Values other than texts, numbers and collections become text first.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            for secret in secrets:
                value = value.replace(secret, "***")
            return value
        case Mapping():
            return {masked(k, secrets): masked(v, secrets) for k, v in value.items()}
        case list() | tuple() | set() | frozenset():
            return [masked(item, secrets) for item in value]
        case _:
            return masked(str(value), secrets)
