"""Check whether a registry would accept a schema, and why not, without registering it.

Confluent's server gives the reasons of a refusal.  Apicurio's implementation of that API does not, but
Apicurio's own API gives them for a registration with `dryRun`.  It is used if the address belongs to an
Apicurio.
"""
# dryRun came with that API: https://github.com/Apicurio/apicurio-registry/issues/4381

from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import quote

from confluent_kafka.schema_registry import Schema as ClientSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.names import Subject
from ingest.registry.answer import read_causes, read_verdict
from ingest.registry.apicurio import own_api
from ingest.registry.subject import CompatibilityResult

_VERSIONS: Final = "v3/groups/default/artifacts/{}/versions"
_NO: Final = "RuleViolationException"

Against = int | Literal["latest", "all"]
"""A version, the latest, or all.  Use all only for a transitive level: Apicurio ignores the level there."""


def check_compatibility(
    client: SchemaRegistryClient, subject: Subject, schema: ClientSchema, against: Against
) -> CompatibilityResult:
    """Ask whether a schema could follow versions of a subject."""
    is_next = isinstance(against, str)
    try:
        result = _check(client, subject, schema, against)
    except SchemaRegistryError as error:
        # Apicurio 3.3.3 does not resolve references when it checks (its epic #6948).
        unread = error.http_status_code == HTTPStatus.UNPROCESSABLE_ENTITY and schema.references
        dry_run = _dry_run(client, subject, schema) if unread and is_next else None
        if dry_run is None:
            raise
        return dry_run
    if result.compatible or result.messages or not is_next:
        return result
    dry_run = _dry_run(client, subject, schema)
    return result if dry_run is None or dry_run.compatible else dry_run


def _check(
    client: SchemaRegistryClient, subject: Subject, schema: ClientSchema, against: Against
) -> CompatibilityResult:
    versions = "versions" if against == "all" else f"versions/{against}"
    path = f"compatibility/subjects/{quote(subject, safe='')}/{versions}?verbose=true"
    # The client's own test_compatibility discards the messages.
    return read_verdict(client._rest_client.post(path, body=schema.to_dict()))  # noqa: SLF001


def _dry_run(
    client: SchemaRegistryClient, subject: Subject, schema: ClientSchema
) -> CompatibilityResult | None:
    """Dry-run a registration in Apicurio.  Return None if the server is another one or refuses."""
    own = own_api(client)
    if own is None:
        return None
    answer = own.request("POST", f"{_VERSIONS.format(quote(subject, safe=''))}?dryRun=true", _body(schema))
    if answer.status_code == HTTPStatus.OK:
        return CompatibilityResult(compatible=True)
    if answer.status_code == HTTPStatus.BAD_REQUEST and answer.json().get("name") == _NO:
        return CompatibilityResult(compatible=False, messages=read_causes(answer.json()))
    return None


def _body(schema: ClientSchema) -> dict[str, Any]:
    references = [
        {"groupId": "default", "artifactId": r.subject, "version": str(r.version), "name": r.name}
        for r in schema.references or ()
    ]
    content = {"content": schema.schema_str, "contentType": "application/json", "references": references}
    return {"content": content}
