"""The ids by which framings other than Confluent's first one name the schemas of a live registry."""

from typing import Final

from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.names import SchemaId, Subject
from ingest.registry.answer import read_id_of_guid
from ingest.registry.apicurio import own_api
from ingest.registry.subject import FrameId, Registered
from ingest.tables import IdKind

OF_APICURIO: Final = frozenset[IdKind]({"globalId", "contentId"})
"""The kinds of id that only Apicurio's own API gives."""


def fetch_frame_ids(
    client: SchemaRegistryClient, registered: Registered, kinds: frozenset[IdKind]
) -> tuple[FrameId, ...]:
    """Return a version's ids from a live registry, and from Apicurio's own API if only that has them."""
    own = own_api(client) if kinds & OF_APICURIO else None
    return (*registered.frame_ids, *(own.ids_of(registered.subject, registered.version) if own else ()))


def fetch_versions_with(client: SchemaRegistryClient, frame_id: FrameId) -> tuple[tuple[Subject, int], ...]:
    """Return the versions with an id of Apicurio's."""
    own = own_api(client) if frame_id.kind in OF_APICURIO else None
    return own.versions_with(frame_id) if own else ()


def fetch_id_of_guid(client: SchemaRegistryClient, frame_id: FrameId) -> SchemaId:
    """Return the id of a GUID (schema-registry 8.5.0: SchemasResource.getIdsByGuid)."""
    return read_id_of_guid(client._rest_client.get(f"schemas/guids/{frame_id.text}/ids"))  # noqa: SLF001
