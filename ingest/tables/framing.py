"""The framings of Avro messages: the kind and the position of the writer schema's id in each."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from ingest.config.rules import WrongValueError

if TYPE_CHECKING:
    from attrs import Attribute

Framing = Literal[
    "confluent",
    "confluent-guid",
    "confluent-headers",
    "apicurio-headers",
    "apicurio-8-byte-content-id",
    "apicurio-8-byte-global-id",
    "apicurio-4-byte-global-id",
    "glue",
]
IdKind = Literal["id", "GUID", "globalId", "contentId", "schemaVersionId"]
"""The id by which a framing names a schema: `id` is from Confluent's API, `schemaVersionId` from Glue's."""

FRAMINGS: Final[Mapping[Framing, frozenset[IdKind]]] = MappingProxyType(
    {
        "confluent": frozenset({"id"}),
        "confluent-guid": frozenset({"GUID"}),
        "confluent-headers": frozenset({"id", "GUID"}),
        "apicurio-headers": frozenset({"globalId", "contentId"}),
        "apicurio-8-byte-content-id": frozenset({"contentId"}),
        "apicurio-8-byte-global-id": frozenset({"globalId"}),
        "apicurio-4-byte-global-id": frozenset({"globalId"}),
        "glue": frozenset({"schemaVersionId"}),
    }
)
"""Each framing with the kinds of id that it may hold.  The JVM's class FrameParser has their bytes."""

CONFLUENT: Final[tuple[Framing, ...]] = ("confluent",)
_SAME_BYTES: Final[tuple[tuple[Framing, Framing], ...]] = (
    ("confluent", "apicurio-4-byte-global-id"),
    ("apicurio-8-byte-content-id", "apicurio-8-byte-global-id"),
)
"""Framings with the same bytes: the number means one or the other."""


def id_kinds(framings: Iterable[Framing]) -> frozenset[IdKind]:
    """Return the kinds of id that messages of these framings hold."""
    return frozenset(kind for framing in framings for kind in FRAMINGS[framing])


def check_framings(_: object, attribute: "Attribute[Any]", framings: tuple[Framing, ...]) -> None:
    """Refuse an empty list, a repetition, and framings with the same bytes."""
    if not framings or len(set(framings)) != len(framings):
        problem = "is empty" if not framings else "names a framing twice"
        raise WrongValueError(attribute.name, problem, f"Allowed: {', '.join(FRAMINGS)}")
    for first, second in _SAME_BYTES:
        if first in framings and second in framings:
            problem = f"'{first}' and '{second}' have the same bytes, and their ids are of different schemas"
            raise WrongValueError(attribute.name, problem, "Name the one that the producers write")
