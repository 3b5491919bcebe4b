"""Masks: replacements of a column's values in a table."""

import hmac
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import attrs

Mask = Literal["hash", "redact", "last4", "null"]

STRICTEST_FIRST: Final[tuple[Mask, ...]] = ("null", "redact", "hash", "last4")
_ID_CHARS: Final = 8


@attrs.frozen
class Masking:
    """The masks of a deployment: one per tag of a schema, and the id of the salt (empty without one).

    `columns` has the masks that tags give the columns of one table, once its schemas are known.
    """

    tags: Mapping[str, Mask] = attrs.field(factory=dict)
    salt_id: str = ""
    columns: Mapping[str, Mask] = attrs.field(factory=dict)


def strictest(masks: Iterable[Mask]) -> Mask | None:
    """Return the mask that shows least, or None without masks."""
    present = set(masks)
    return next((mask for mask in STRICTEST_FIRST if mask in present), None)


def salt_id_of(salt: str) -> str:
    """Return an id of a salt that does not reveal the salt: the start of a keyed hash."""
    return hmac.digest(salt.encode(), b"ingest: the id of a salt", "sha256").hex()[:_ID_CHARS]
