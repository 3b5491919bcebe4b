"""Apicurio's own API, next to Confluent's on the same server, for queries that the latter does not answer."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import attrs
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.names import SchemaId, Subject
from ingest.registry.answer import OwnVersion, read_id_of_guid, read_own_ids, read_own_page, read_own_versions
from ingest.registry.subject import FrameId, Registered
from ingest.tables import IdKind

_CONFLUENT: Final = "/apis/ccompat/"
"""The path of Confluent's API in Apicurio."""
_ARTIFACTS: Final = "groups/default/artifacts"


@attrs.frozen
class OwnApi:
    """Apicurio's API behind a client of Confluent's API there."""

    client: SchemaRegistryClient
    root: str

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send a request with the client's login, and return the HTTP library's answer."""
        rest = self.client._rest_client  # noqa: SLF001  has the login, but its requests drop reasons
        headers: dict[str, str] = {}
        if rest.bearer_auth_credentials_source:
            rest.handle_bearer_auth(headers)
        return rest.session.request(method, f"{self.root}/apis/registry/{path}", headers=headers, json=body)

    def ids_of(self, subject: Subject, version: int) -> tuple[FrameId, ...]:
        """Return globalId and contentId of a version, or an empty tuple if the server does not have it."""
        artifact = f"{_ARTIFACTS}/{quote(subject, safe='')}/versions/{version}"
        answer = self._get(f"v3/{artifact}") or self._get(f"v2/{artifact}/meta")  # Apicurio 2 has v2 only
        return read_own_ids(answer) if answer else ()

    def versions_with(self, frame_id: FrameId) -> tuple[tuple[Subject, int], ...]:
        """Return the versions with a globalId or contentId.

        Apicurio 2 has no such search, so the result is empty.
        """
        answer = self._get(f"v3/search/versions?groupId=default&{frame_id.kind}={quote(frame_id.text)}")
        return read_own_versions(answer) if answer else ()

    def list_versions(self, offset: int, limit: int) -> tuple[tuple[OwnVersion, ...], int]:
        """Return versions of all subjects in the order of `global_id`, and how many there are.

        Soft-deleted versions count.  Apicurio 2 has no such list, so the result is empty.
        """
        order = "orderby=globalId&order=asc"
        answer = self._get(f"v3/search/versions?groupId=default&{order}&offset={offset}&limit={limit}")
        return read_own_page(answer) if answer else ((), 0)

    def _get(self, path: str) -> object:
        answer = self.request("GET", path)
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        if answer.status_code != HTTPStatus.OK:
            raise SchemaRegistryError(answer.status_code, -1, answer.text)
        return answer.json()


def own_api(client: SchemaRegistryClient) -> OwnApi | None:
    """Return Apicurio's API if the address shows an Apicurio."""
    base: str = client._rest_client.base_urls[0]  # noqa: SLF001  it hides its address
    root, is_apicurio, _ = base.partition(_CONFLUENT)
    return OwnApi(client, root) if is_apicurio else None


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
