"""The newest versions of many subjects, from lists of all schemas in place of several requests for each."""

from collections.abc import Collection, Mapping, Sequence
from os.path import commonprefix
from typing import Final

from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.names import SchemaId, Subject
from ingest.registry.answer import ListedVersion, OwnVersion, read_id, read_listed
from ingest.registry.apicurio import OwnApi, own_api
from ingest.registry.paging import EndlessListError, every_page
from ingest.registry.subject import Newest

OWN_VERSIONS: Final = 50
"""Versions for each subject asked for that a list of Apicurio may have.  An entry has 230 bytes."""

SCHEMAS: Final = 4
"""Schemas for each subject asked for that a list of Confluent may have.  An entry has the schema's text."""

PAGE: Final = 1_000
"""Entries to ask for at once.  Neither server gives more (Confluent: `schema.search.max.limit`)."""

_LIVE: Final = frozenset({"ENABLED", "DEPRECATED"})
_DELETED: Final = "DISABLED"


def list_newest(client: SchemaRegistryClient, subjects: Collection[Subject]) -> Mapping[Subject, Newest]:
    """Return the newest versions of subjects, none if the registry has far more schemas than these.

    Raises exceptions of the client if the registry has no such list.
    """
    own = own_api(client)
    listed = _list_own(own, len(subjects)) if own else _list_schemas(client, subjects)
    return {subject: listed[subject] for subject in subjects if subject in listed}


def _list_schemas(client: SchemaRegistryClient, subjects: Collection[Subject]) -> Mapping[Subject, Newest]:
    """Read Confluent's list of schemas (schema-registry 8.5.0: SchemasResource.getSchemas)."""
    prefix = commonprefix(list(subjects))  # noqa: RUF071  of characters, not of folders
    query = {"subjectPrefix": prefix, "deleted": "true", "latestOnly": "true"}

    def page(offset: int) -> tuple[ListedVersion, ...]:
        part = {"offset": offset, "limit": PAGE}
        return read_listed(client._rest_client.get("schemas", query=query | part))  # noqa: SLF001  no method

    try:
        listed = every_page(page, most=max(PAGE, SCHEMAS * len(subjects)))
    except EndlessListError:
        return {}
    newest = {subject: Newest(schema_id, is_only=version == 1) for subject, version, schema_id in listed}
    # A server that lists all versions may cut the list between two of a subject.
    return newest if len(newest) == len(listed) else {}


def _list_own(own: OwnApi, count: int) -> Mapping[Subject, Newest]:
    """Read Apicurio's list: its list of Confluent's API lacks subjects, versions and ids (3.3.3)."""
    listed: dict[Subject, list[OwnVersion]] = {}
    for version in _own_versions(own, OWN_VERSIONS * count):
        listed.setdefault(version.subject, []).append(version)
    shown = {subject: versions for subject, versions in listed.items() if _is_shown(versions)}
    newest = {subject: versions[-1] for subject, versions in shown.items()}
    uses_global_ids = _uses_global_ids(own.client, newest)
    if uses_global_ids is None:
        return {}
    return {
        subject: Newest(
            SchemaId(version.global_id if uses_global_ids else version.content_id),
            is_only=len(shown[subject]) == 1,
        )
        for subject, version in newest.items()
    }


def _own_versions(own: OwnApi, most: int) -> Sequence[OwnVersion]:
    """Read all versions by pages, none if they are more than `most`.

    Each page begins with the last version of the one before.  If it does not, a version was deleted
    meanwhile, and the list lacks another one.
    """
    versions, count = own.list_versions(0, PAGE)
    while len(versions) < count <= most:
        page, count = own.list_versions(max(0, len(versions) - 1), PAGE)
        if len(page) < 2 or page[:1] != versions[-1:]:  # noqa: PLR2004  the last one and a new one
            return ()
        versions += page[1:]
    return versions if count <= most else ()


def _is_shown(versions: Sequence[OwnVersion]) -> bool:
    """Tell whether Confluent's API shows all versions of a subject: no drafts, and no deleted subject."""
    states = {version.state for version in versions}
    return bool(states & _LIVE) and states <= _LIVE | {_DELETED}


def _uses_global_ids(client: SchemaRegistryClient, newest: Mapping[Subject, OwnVersion]) -> bool | None:
    """Return whether Confluent's API there shows a version's globalId as its id, None if that is unclear.

    It shows the contentId, unless `apicurio.ccompat.legacy-id-mode.enabled` is set.  One version tells it.
    """
    telling = {name: version for name, version in newest.items() if version.global_id != version.content_id}
    if not telling:
        return False
    for subject, version in telling.items():
        if version.state == "ENABLED":  # the latest version of Confluent's API, too
            shown = read_id(client.get_version(subject).schema_id)
            return {version.content_id: False, version.global_id: True}.get(shown)
    return None
