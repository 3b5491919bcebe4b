"""The settings of a deployment: the addresses and logins of its registry, broker, lake and Spark.

A value comes from the command line, else from an environment variable (`INGEST_REGISTRY_URL`), else from the
settings file, else from the defaults in `deployment`.  Nothing here prints a secret.
"""

from collections.abc import Mapping
from pathlib import Path

from ingest.settings.deployment import (
    KafkaSettings,
    OnboardSettings,
    RegistrySettings,
    RunSettings,
    Settings,
    SparkSettings,
)
from ingest.settings.iceberg import IcebergSettings
from ingest.settings.lake import LakeSettings
from ingest.settings.lineage import LineageSettings
from ingest.settings.new_file import write_settings
from ingest.settings.secret import MASK, Secret, looks_secret, mask_url
from ingest.settings.source import SourceSettings
from ingest.settings.sources import exposed_files, read, tables_folder

__all__ = [
    "MASK",
    "IcebergSettings",
    "KafkaSettings",
    "LakeSettings",
    "LineageSettings",
    "OnboardSettings",
    "RegistrySettings",
    "RunSettings",
    "Secret",
    "Settings",
    "SourceSettings",
    "SparkSettings",
    "exposed_files",
    "load",
    "looks_secret",
    "mask_url",
    "tables_folder",
    "write_settings",
]


def load(
    path: Path | None = None,
    *,
    tables: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Read the settings of a deployment.

    `path` is the value of `--settings`, and `tables` the value of `--tables`.  `overrides` maps dotted keys
    to the values of other flags (None: flag not given).  Raises SettingsError for an unknown key or a wrong
    value.
    """
    return read(path, tables, overrides or {})
