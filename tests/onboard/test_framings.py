"""Onboarding finds the framings of a topic in a sample of its messages."""

import uuid
from collections.abc import Iterable

import pytest

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.kafka.sample import RawRecord
from ingest.names import SchemaId, Subject, Topic
from ingest.onboard.discover import TopicSchemas
from ingest.onboard.framings import framings_of, with_framings
from ingest.registry import FolderRegistry, FrameId, Registered, Registry
from ingest.tables import Framing, IdKind, Subjects

GUID = uuid.UUID("6f1f3a3e-2a51-4d0e-9d0b-5b7a6f0c8e21").bytes
BODY = b"\x02\x04"


class Apicurio(FolderRegistry):
    """A registry whose one version has Apicurio's ids: globalId 7, contentId 5."""

    def frame_ids(self, _registered: Registered, kinds: frozenset[IdKind]) -> tuple[FrameId, ...]:
        """Return the ids that Apicurio's own API gives."""
        return tuple(
            FrameId(kind, text) for kind, text in (("globalId", "7"), ("contentId", "5")) if kind in kinds
        )


def schemas_of(subject: str = "t-value") -> TopicSchemas:
    """Return a topic whose values have one schema, with Confluent's id 5."""
    value = WriterSchema(SchemaId(5), "value", avro.parse('"int"'))
    return TopicSchemas(Topic("t"), values=(value,), subjects=Subjects(value=Subject(subject)))


@pytest.fixture
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Return the registry, with the subject's version."""
    folder = tmp_path_factory.mktemp("registry")
    (folder / "t-value").mkdir()
    (folder / "t-value" / "v1.avsc").write_text('"int"')
    return Apicurio(folder)


def records(*payloads: bytes | tuple[bytes, str, bytes]) -> Iterable[RawRecord]:
    """Return messages without a key: bytes, or bytes with a header."""
    for payload in payloads:
        value, *header = payload if isinstance(payload, tuple) else (payload,)
        headers = ((header[0], header[1]),) if header else ()
        yield RawRecord(None, value, headers, None)  # type: ignore[arg-type]  # name and value


@pytest.mark.parametrize(
    ("payload", "framing"),
    [
        (b"\x00\x00\x00\x00\x05" + BODY, "confluent"),
        (b"\x00\x00\x00\x00\x07" + BODY, "apicurio-4-byte-global-id"),
        (b"\x00" + (7).to_bytes(8) + BODY, "apicurio-8-byte-global-id"),
        (b"\x00" + (5).to_bytes(8) + BODY, "apicurio-8-byte-content-id"),
        (b"\x01" + GUID + BODY, "confluent-guid"),
        (b"\x03\x00" + GUID + BODY, "glue"),
        (b"\x03\x05" + GUID + BODY, "glue"),
        ((BODY, "__value_schema_id", b"\x00\x00\x00\x00\x05"), "confluent-headers"),
        ((BODY, "apicurio.value.globalId", (7).to_bytes(8)), "apicurio-headers"),
        ((BODY, "apicurio.value.contentId", (5).to_bytes(8)), "apicurio-headers"),
    ],
)
def test_each_framing_is_found(
    registry: Registry, payload: bytes | tuple[bytes, str, bytes], framing: Framing
) -> None:
    """Ids that two framings share are told apart by the ids of the subject's versions."""
    found = framings_of(records(payload), registry, schemas_of())
    assert (found.framings, found.caveats) == ((framing,), ())


def test_framings_that_are_mixed_in_a_topic_are_all_found(registry: Registry) -> None:
    """As while its producers move to another registry."""
    mixed = (
        b"\x00\x00\x00\x00\x05" + BODY,
        b"\x01" + GUID + BODY,
        (BODY, "apicurio.value.globalId", bytes(8)),
    )
    found = framings_of(records(*mixed), registry, schemas_of())
    assert found.framings == ("apicurio-headers", "confluent", "confluent-guid")


def test_ids_of_other_schemas_stay_confluents(registry: Registry) -> None:
    """A schema of another subject: neither registry's id of this one."""
    found = framings_of(records(b"\x00\x00\x00\x00\x63" + BODY), registry, schemas_of())
    assert found.framings == ("confluent",)


def test_bytes_of_no_framing_are_a_caveat(registry: Registry) -> None:
    """JSON, or Avro without a frame: they would all be rejects."""
    found = framings_of(records(b'{"a": 1}', b"\x00\x00\x00\x00\x05" + BODY), registry, schemas_of())
    assert found.framings == ("confluent",)
    (caveat,) = found.caveats
    assert caveat.startswith("framings: 1 of 2 sampled keys and values begin with the bytes of no framing")


def test_eight_bytes_of_an_unknown_schema_are_a_caveat(registry: Registry) -> None:
    """GlobalId is Apicurio 2's default, and a person has to confirm it."""
    found = framings_of(records(b"\x00" + (99).to_bytes(8) + BODY), registry, schemas_of())
    assert found.framings == ("apicurio-8-byte-global-id",)
    assert "ids of 8 bytes are globalIds or contentIds" in found.caveats[0]


def test_without_messages_confluents_ids_are_expected(registry: Registry) -> None:
    """Also from null payloads alone."""
    assert framings_of([RawRecord(None, None, (), None)], registry, schemas_of()) == schemas_of()


def test_messages_that_cannot_be_read_leave_a_caveat(registry: Registry) -> None:
    """A topic without messages has none."""
    assert with_framings((), registry, schemas_of()) == schemas_of()
    unread = with_framings(None, registry, schemas_of())
    assert unread.framings == schemas_of().framings
    assert [caveat.partition(",")[0] for caveat in unread.caveats] == [
        "framings: the messages could not be read"
    ]
