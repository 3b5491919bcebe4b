"""The options that every command takes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Group, Parameter

from ingest.api.session import Session
from ingest.config.rules import WrongValueError
from ingest.errors import UsageError
from ingest.log import configure
from ingest.settings import OnboardSettings
from ingest.tables import Reader

_DEPLOYMENT = Group("Deployment", sort_key=90)
EXPERT = Group("Expert options", sort_key=95, help="Few deployments need them.")
"""The group of options that come last in the help."""


def _option(text: str) -> Parameter:
    return Parameter(help=text, group=_DEPLOYMENT, show_default=False, negative=())


@Parameter(name="*")
@attrs.frozen
class Deployment:
    """Where the settings are. A flag wins over an environment variable, which wins over the file."""

    settings: Annotated[Path | None, _option("Settings file (INGEST_SETTINGS, else ./ingest.toml).")] = None
    tables: Annotated[
        Path | None, _option("Folder of table files (else tables/ next to the settings file).")
    ] = None
    registry: Annotated[
        str | None, _option("Registry URL, or a folder of schemas (else [registry] url).")
    ] = None
    bootstrap_servers: Annotated[
        str | None, _option("Kafka brokers, host:port, comma separated (else [kafka] bootstrap_servers).")
    ] = None
    lake: Annotated[str | None, _option("Root of the Hudi tables, any Hadoop path (else [lake] path).")] = (
        None
    )
    debug: Annotated[bool, _option("Log everything, and show a traceback with an error.")] = False

    def open(self, flags: Mapping[str, object] | None = None) -> Session:
        """Open the deployment, with its secrets masked in the log. `flags` are further settings by key."""
        configure()  # reading the settings may log warnings
        overrides = {**self.overrides(), **(flags or {})}
        session = Session.open(self.settings, tables=self.tables, overrides=overrides)
        level = "debug" if self.debug else session.settings.run.log_level
        configure(level, secrets=session.settings.secrets())
        return session

    def overrides(self) -> dict[str, object]:
        """Return the flags by the settings' dotted keys."""
        return {
            "registry.url": self.registry,
            "kafka.bootstrap_servers": self.bootstrap_servers,
            "lake.path": self.lake,
        }


def parse_readers(text: str) -> tuple[Reader, ...]:
    """Return the readers of a list by commas.  Raises UsageError for an unknown one."""
    names: tuple[Any, ...] = tuple(name.strip() for name in text.split(","))
    try:
        return OnboardSettings(readers=names).readers
    except WrongValueError as error:
        raise UsageError(f"--readers: {error.problem}", error.todo) from None
