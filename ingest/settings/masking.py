"""The masks of all tables: the key of the hashes, and the masks for tags of schemas."""

from typing import Any, Final, get_args

import attrs

from ingest.config.rules import WrongValueError, quoted, suggest
from ingest.masking import Mask, Masking, salt_id_of
from ingest.settings.secret import Secret

SHORTEST_SALT: Final = 16
"""Characters: fewer can be guessed, and with them the hashed values."""


def _check_salt(_: Any, attribute: "attrs.Attribute[Any]", value: Secret | None) -> None:
    if value is not None and len(value.reveal()) < SHORTEST_SALT:
        problem = f"found a text that is not shown; allowed: {SHORTEST_SALT} characters or more"
        raise WrongValueError(attribute.name, problem)


def _check_tags(_: Any, attribute: "attrs.Attribute[Any]", value: dict[str, str]) -> None:
    for tag, mask in value.items():
        if mask not in get_args(Mask):
            raise WrongValueError(
                f"{attribute.name}.{tag}", f"found '{mask}'; allowed: {quoted(get_args(Mask))}",
                suggest(mask, get_args(Mask)),
            )  # fmt: skip


@attrs.frozen
class MaskingSettings:
    """The masks of all tables."""

    salt: Secret | None = attrs.field(
        default=None,
        validator=_check_salt,
        metadata={
            "help": "Key of the hashes of the mask `hash`, at least 16 characters. Fixed once a table "
            "has hashes. [Chosen columns](../chosen.md) has details."
        },
    )
    tags: dict[str, str] = attrs.field(
        factory=dict,
        validator=_check_tags,
        metadata={"help": 'Masks by tags of the schemas\' fields, such as `PII = "hash"`, for all tables.'},
    )

    def __attrs_post_init__(self) -> None:
        if "hash" in self.tags.values() and self.salt is None:
            raise WrongValueError("salt", "is not set, but a tag has the mask 'hash'")

    def of_tables(self) -> Masking:
        """Return the part that compiling a table needs.  The salt itself stays here."""
        tags = {tag: mask for tag, text in self.tags.items() for mask in get_args(Mask) if mask == text}
        return Masking(tags, salt_id_of(self.salt.reveal()) if self.salt else "")
