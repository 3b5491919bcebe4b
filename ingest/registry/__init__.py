"""Schema registries: key and value schemas by subject, version and id, live or from a folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from ingest.errors import SettingsError
from ingest.lazy import LazyModule
from ingest.registry.folder import FolderRegistry
from ingest.registry.lookup import AbsentRegistry, Registry, deleted_versions, suggesting, versions_in_order
from ingest.registry.naming import TopicSubjects, find_topics, key_beside
from ingest.registry.subject import (
    CompatibilityResult,
    FrameId,
    Newest,
    Reference,
    Registered,
    Schema,
    Side,
    split_subject,
    subject_of,
)
from ingest.settings import RegistrySettings

if TYPE_CHECKING:
    from ingest.registry import client
else:  # importing takes 0.3 s, and a registry in a folder does not need it
    client = LazyModule("ingest.registry.client")

__all__ = [
    "CompatibilityResult",
    "FolderRegistry",
    "FrameId",
    "Newest",
    "Reference",
    "Registered",
    "Registry",
    "Schema",
    "Side",
    "TopicSubjects",
    "deleted_versions",
    "find_topics",
    "key_beside",
    "open_registry",
    "split_subject",
    "subject_of",
    "suggesting",
    "versions_in_order",
]


def open_registry(settings: RegistrySettings) -> Registry:
    """Open the registry of a deployment: a folder for `file:` or a folder's path, else a live one.

    Without a URL, every query raises `SettingsError`.  JSON topics do not need a registry.
    """
    url = settings.url.strip()
    if not url:
        return AbsentRegistry()
    folder = Path(url.removeprefix("file:").removeprefix("//"))
    if url.startswith("file:") or ("://" not in url and folder.is_dir()):
        if not folder.is_dir():
            problem = f"{folder} is not a folder"
            raise SettingsError("settings", "registry.url", problem, "Name an existing folder")
        return FolderRegistry(folder)
    return client.LiveRegistry(settings)
