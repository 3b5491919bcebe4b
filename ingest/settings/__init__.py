"""One deployment: where its registry, broker, lake and Spark are, and how to log in.

A value comes from the command line, else from an environment variable (`INGEST_REGISTRY_URL`),
else from the settings file, else from the defaults in `deployment`.  Nothing here prints a secret.
"""

from collections.abc import Mapping
from pathlib import Path

from ingest.settings.deployment import (
    KafkaSettings,
    LakeSettings,
    RegistrySettings,
    RunSettings,
    Settings,
    SparkSettings,
)
from ingest.settings.secret import MASK, Secret, looks_secret, mask_url

__all__ = [
    "MASK",
    "KafkaSettings",
    "LakeSettings",
    "RegistrySettings",
    "RunSettings",
    "Secret",
    "Settings",
    "SparkSettings",
    "load",
    "looks_secret",
    "mask_url",
]


def load(
    path: Path | None = None,
    *,
    tables: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Read the settings of a deployment.

    `path` is what `--settings` says, `tables` what `--tables` says; `overrides` maps dotted keys to
    what other flags say (None: flag not given).  Raises SettingsError for anything unknown or of a
    wrong type.
    """
    # typed-settings takes 70 ms to import: only a command that reads settings pays.
    from ingest.settings.sources import read  # noqa: PLC0415

    return read(path, tables, overrides or {})
