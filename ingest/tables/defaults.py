"""`[defaults]` of a deployment: the values of all table files that lack these keys."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from ingest.config import document
from ingest.config.convert import make_converter, structure
from ingest.config.rules import WrongValueError
from ingest.tables.key import Key
from ingest.tables.rejects import Rejects
from ingest.tables.rules import check_hudi_options, check_policies
from ingest.tables.target import Target
from ingest.tables.types import Types

SECTION: Final = "defaults"
"""The section of the settings."""
PER_TABLE: Final = (
    "key.columns",
    "target.mode",
    "target.partition_by",
    "target.hive_style_partitions",
    "target.index",
    "target.buckets",
)
"""Keys that are decided for each table."""
FIXED: Final = (
    "target.type",
    "target.table_version",
    "target.buckets",
    "types.time",
    "types.nanos",
    "types.timestamps",
)
"""Keys that a new file always has.

They are fixed at creation of the table.  A default that changes later must reach neither a table that exists,
nor a table that is created again after its folder was lost.
"""
Origin = Literal["file", "defaults", "product", "derived"]
"""Where a value comes from: the table file, `[defaults]`, the product, or another value."""
_CONVERTER: Final = make_converter()


@attrs.frozen
class Origins:
    """The file of a table, its keys, and the keys that `[defaults]` has in addition."""

    path: Path | None = None
    file: frozenset[str] = frozenset()
    defaults: frozenset[str] = frozenset()

    def of(self, key: str) -> Origin:
        """Return where the value of a key comes from."""
        return "file" if key in self.file else "defaults" if key in self.defaults else "product"


@attrs.frozen
class Defaults:
    """The sections of table files that can have a default for all tables.

    `given` has the values by section and key, without those of the product.
    """

    key: Key = Key()
    target: Target = Target()
    types: Types = Types()
    evolution: dict[str, str] = attrs.field(factory=dict, validator=check_policies)
    rejects: Rejects = Rejects()
    hudi: dict[str, str] = attrs.field(factory=dict, validator=check_hudi_options)
    given: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, metadata={"in_file": False})

    def fill(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Add the defaults that a file's content lacks, key by key."""
        filled = dict(content)
        for section, values in self.given.items():
            existing = content.get(section, {})
            if isinstance(existing, dict):  # else a person's mistake, which the converter names
                filled[section] = {**values, **existing}
        return filled

    def origins(self, path: Path, content: Mapping[str, Any]) -> Origins:
        """Return where the values of a file with this content come from."""
        file = frozenset(_keys(content))
        return Origins(path, file, frozenset(_keys(self.given)) - file)


def parse_defaults(content: Any) -> Defaults:
    """Read `[defaults]`.  Raises WrongValueError, with all problems and their dotted keys in the settings."""
    if isinstance(content, dict):
        content = content | flat_options(content, f"{SECTION}.")
    given = frozenset(_keys(content)) if isinstance(content, dict) else frozenset()
    defaults = structure(_CONVERTER, content, Defaults, SECTION)
    decided = [
        WrongValueError(f"{SECTION}.{key}", "is decided for each table", "Set it in the table files")
        for key in PER_TABLE
        if key in given
    ]
    if decided:
        decided[0].further = tuple(decided[1:])
        raise decided[0]
    return attrs.evolve(defaults, given=content)


def flat_options(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return `[hudi]` with the dotted names of its options, or nothing if the content has no such section.

    Raises WrongValueError with a key that begins with the prefix.
    """
    options = content.get("hudi")
    if not isinstance(options, dict):
        return {}
    try:
        return {"hudi": document.flatten(options)}
    except WrongValueError as error:
        raise WrongValueError(f"{prefix}hudi.{error.key}", error.problem, error.todo) from None


def _keys(content: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted key of each value."""
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
