"""A live registry, Confluent's or one that speaks its API (Apicurio), over one or several servers."""

from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import count
from typing import Final, TypeVar

from confluent_kafka.schema_registry import RegisteredSchema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry import Schema as ClientSchema

from ingest.errors import NoRegistryError, RegistryUnreachableError, SchemaNotFoundError
from ingest.names import SchemaId, Subject
from ingest.registry.answer import (
    read_id,
    read_level,
    read_registered,
    read_schema,
    read_subjects,
    read_versions,
)
from ingest.registry.apicurio import fetch_frame_ids, fetch_id_of_guid, fetch_versions_with
from ingest.registry.connection import FAILURES, OTHER_SERVER, Question, connect
from ingest.registry.lookup import chosen_ids, texts_in_order
from ingest.registry.newest import list_newest
from ingest.registry.paging import EndlessListError, every_page
from ingest.registry.subject import (
    CompatibilityResult,
    FrameId,
    Newest,
    Reference,
    Registered,
    Schema,
    literal_prefix,
)
from ingest.registry.verdict import Against, check_compatibility
from ingest.settings import RegistrySettings
from ingest.tables import IdKind

T = TypeVar("T")
P = TypeVar("P", bound=str | int)

PAGE: Final = 20_000
"""Entries to ask for at once, the most that Confluent's server gives (schema-registry #3455).

Without a limit Apicurio gives 1,000 subjects (#3118).  It takes any limit.
"""

CUT_VERSIONS: Final = 500
"""Versions after which Apicurio 3.3.3 cuts a subject's list, at any requested offset (#9851)."""

SMALLEST_PAGE: Final = 10
"""Versions in the shortest page that any server may hand out: most subjects then take one request."""


class LiveRegistry:
    """A `Registry` that asks servers in turn until one answers, starting with the last that did."""

    def __init__(self, settings: RegistrySettings) -> None:
        urls = [url.strip() for url in settings.url.split(",") if url.strip()]
        self._connections = tuple(connect(url, settings) for url in urls)
        self._first = 0
        self._by_id: dict[SchemaId, Schema] = {}
        self._by_version: dict[tuple[Subject, int], Registered] = {}
        self._frame_ids: dict[tuple[Subject, int, frozenset[IdKind]], tuple[FrameId, ...]] = {}

    @property
    def url(self) -> str:
        """The addresses, without passwords."""
        return ",".join(connection.url for connection in self._connections)

    def subjects(self, pattern: str = "*") -> tuple[Subject, ...]:
        """Return the subjects that match a glob.  Apicurio ignores the prefix, so all are checked."""
        prefix = literal_prefix(pattern) or None
        question = Question("list subjects")

        def page(offset: int) -> tuple[Subject, ...]:
            return self._ask(
                question, lambda client: read_subjects(client.get_subjects(prefix, offset=offset, limit=PAGE))
            )

        return tuple(sorted(name for name in self._every_page(question, page) if fnmatchcase(name, pattern)))

    def versions(self, subject: Subject, *, deleted: bool = False) -> tuple[int, ...]:
        """Return a subject's versions, including versions that the server's list lacks."""
        question = Question(f"versions of {subject}", f"subject {subject}")

        def page(offset: int) -> tuple[int, ...]:
            return self._ask(
                question,
                lambda client: read_versions(
                    client.get_versions(subject, deleted=deleted, offset=offset, limit=PAGE)
                ),
            )

        listed = self._every_page(question, page, smallest_page=SMALLEST_PAGE)
        unlisted = (
            self._unlisted(subject, max(listed), deleted=deleted) if len(listed) >= CUT_VERSIONS else ()
        )
        return tuple(sorted((*listed, *unlisted)))

    def _every_page(
        self, question: Question, fetch: Callable[[int], tuple[P, ...]], *, smallest_page: int = 1
    ) -> tuple[P, ...]:
        try:
            return every_page(fetch, smallest_page=smallest_page)
        except EndlessListError as error:
            raise NoRegistryError(self.url, question.request, str(error), OTHER_SERVER) from None

    def _unlisted(self, subject: Subject, last: int, *, deleted: bool) -> Iterator[int]:
        """Yield the versions behind the end of a list that may be cut, by asking for each number."""
        try:
            newest = self.latest(subject).version
        except SchemaNotFoundError:  # all are deleted
            newest = last
        for number in count(last + 1):
            if self._exists(subject, number, deleted=deleted):
                yield number
            elif number > newest:
                return

    def _exists(self, subject: Subject, number: int, *, deleted: bool) -> bool:
        question = Question(f"read subject {subject} version {number}", "the version")
        try:
            self._ask(question, lambda client: _fetch_version(client, subject, number, deleted=deleted))
        except SchemaNotFoundError:
            return False
        return True

    def newest(self, subjects: Collection[Subject]) -> Mapping[Subject, Newest]:
        """Return the newest versions of many subjects."""
        question = Question("list the newest versions")
        return self._ask(question, lambda client: list_newest(client, subjects))

    def latest(self, subject: Subject) -> Registered:
        """Return a subject's newest version."""
        question = Question(f"latest version of {subject}", f"subject {subject}")
        # get_latest_version answers from a cache that never expires (confluent-kafka-python#1950).
        return self._ask(question, lambda client: read_registered(client.get_version(subject)))

    def version(self, subject: Subject, number: int) -> Registered:
        """Return one version of a subject."""
        if number == -1:
            return self.latest(subject)
        item = f"subject {subject} version {number}"
        # A version never changes, and messages outlive its deletion.
        if (subject, number) not in self._by_version:
            self._by_version[subject, number] = self._ask(
                Question(f"read {item}", item),
                lambda client: read_registered(client.get_version(subject, number, deleted=True)),
            )
        return self._by_version[subject, number]

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of an id."""
        if schema_id not in self._by_id:
            item = f"schema id {schema_id}"
            self._by_id[schema_id] = self._ask(
                Question(f"read {item}", item),
                lambda client: read_schema(schema_id, item, client.get_schema(schema_id)),
            )
        return self._by_id[schema_id]

    def frame_ids(self, registered: Registered, kinds: frozenset[IdKind]) -> tuple[FrameId, ...]:
        """Return a version's ids of these kinds.  Apicurio's own API is asked once per version and kinds."""
        if kinds == {"id"}:
            return ()
        version = (registered.subject, registered.version, kinds)
        if version not in self._frame_ids:
            item = f"subject {registered.subject} version {registered.version}"
            self._frame_ids[version] = self._ask(
                Question(f"read the ids of {item}", item),
                lambda client: fetch_frame_ids(client, registered, kinds),
            )
        return chosen_ids(self.url, registered, self._frame_ids[version], kinds)

    def by_frame_id(self, frame_id: FrameId) -> Schema:
        """Return the schema that a framing names."""
        question = Question(f"read {frame_id}", str(frame_id))
        if frame_id.kind == "GUID":
            return self.by_id(self._ask(question, lambda client: fetch_id_of_guid(client, frame_id)))
        versions = self._ask(question, lambda client: fetch_versions_with(client, frame_id))
        if not versions:
            raise SchemaNotFoundError(self.url, str(frame_id))
        return self.by_id(self.version(*versions[0]).id)

    def with_references(self, schema: Schema | Registered) -> tuple[str, ...]:
        """Return the texts that a schema needs.  Its own text comes last."""
        return texts_in_order(self, schema)

    def compatibility(self, subject: Subject) -> str:
        """Return the subject's level, else the global one (Confluent answers 404 for the former)."""
        own = Question(f"compatibility level of {subject}", "own level", coded=True)
        try:
            return self._ask(own, lambda client: read_level(client.get_compatibility(subject)))
        except SchemaNotFoundError:
            question = Question("global compatibility level")
            return self._ask(question, lambda client: read_level(client.get_compatibility()))

    def compatible(
        self,
        subject: Subject,
        schema_text: str,
        references: tuple[Reference, ...] = (),
        *,
        version: int | None = None,
    ) -> CompatibilityResult:
        """Ask whether a schema could follow a version.  A subject without versions takes any."""
        schema = _client_schema(schema_text, references)
        if version is not None and version != -1:
            return self._verdict(subject, schema, version)
        try:
            verdict = self._verdict(subject, schema, "latest")
        except SchemaNotFoundError:
            return CompatibilityResult(compatible=True)
        if verdict.compatible and self.compatibility(subject).endswith("_TRANSITIVE"):
            return self._verdict(subject, schema, "all")
        return verdict

    def register(
        self, subject: Subject, schema_text: str, references: tuple[Reference, ...] = ()
    ) -> SchemaId:
        """Register a schema under a subject."""
        schema = _client_schema(schema_text, references)
        return self._ask(
            Question(f"register {subject}"),
            lambda client: read_id(client.register_schema(subject, schema)),
        )

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            connection.client.close()

    def _verdict(self, subject: Subject, schema: ClientSchema, against: Against) -> CompatibilityResult:
        number = f" version {against}" if isinstance(against, int) else ""
        question = Question(f"compatibility check of {subject}", f"subject {subject}{number}", coded=True)
        return self._ask(question, lambda client: check_compatibility(client, subject, schema, against))

    def _ask(self, question: Question, ask: Callable[[SchemaRegistryClient], T]) -> T:
        """Put a question to the servers in turn, skipping servers that are out of reach or not a registry."""
        servers = len(self._connections)
        failed: list[RegistryUnreachableError | NoRegistryError] = []
        for index in ((self._first + step) % servers for step in range(servers)):
            connection = self._connections[index]
            try:
                answer = ask(connection.client)
            except FAILURES as error:
                reason = connection.explain(error, question)
                if not isinstance(reason, RegistryUnreachableError | NoRegistryError):
                    raise reason from None
                failed.append(reason)
            else:
                self._first = index
                return answer
        unreachable = [reason for reason in failed if isinstance(reason, RegistryUnreachableError)]
        if servers == 1 or not unreachable:
            raise failed[0]
        problems = "; ".join(f"{reason.url}: {reason.problem}" for reason in failed)
        raise RegistryUnreachableError(self.url, problems)


def _fetch_version(
    client: SchemaRegistryClient, subject: Subject, number: int, *, deleted: bool
) -> RegisteredSchema:
    """Fetch a version from the server: the client's cache holds deleted versions among the others."""
    client.clear_caches()  # type: ignore[no-untyped-call]  # the client's
    return client.get_version(subject, number, deleted=deleted)


def _client_schema(schema_text: str, references: tuple[Reference, ...]) -> ClientSchema:
    named = [SchemaReference(item.name, item.subject, item.version) for item in references]
    return ClientSchema(schema_text, "AVRO", named)
