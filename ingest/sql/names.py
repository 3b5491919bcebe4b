"""Names that a table can hold.

Hudi writes a table's schema as Avro, so it accepts only Avro's names (measured with Hudi 1.2.0).  Spark
compares names without regard to letter case (catalyst.analysis.caseInsensitiveResolution).
"""

from collections.abc import Iterable

from ingest import avro
from ingest.errors import SchemaError

RULE = "letters, digits and _, and not a digit first"
"""The characters of a name, as an error says it."""
_SHOWN = 80
"""Characters of a name that an error shows."""


def folded(name: str) -> str:
    """Return a name in the letter case that Java's `equalsIgnoreCase` compares."""
    return "".join(_lower(c.upper()) if len(c.upper()) == 1 else _lower(c) for c in name)


def _lower(character: str) -> str:
    return character.lower()[0]


def shown(name: str) -> str:
    """Return a name as an error shows it."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"


def check_fields(names: Iterable[str], where: str, path: str) -> None:
    """Refuse fields of a struct that no table can hold.  Raises `SchemaError`."""
    todo = "Rename the field in the source, or exclude the column: [columns.<name>] exclude = true"
    by_folded: dict[str, str] = {}
    for name in names:
        field_path = f"{path}.{shown(name)}"
        if not avro.is_name(name):
            raise SchemaError(where, field_path, f"is not a name that Hudi accepts: {RULE}", todo)
        twin = by_folded.setdefault(folded(name), name)
        if twin != name:
            problem = f"differs from '{shown(twin)}' only in letter case; Spark cannot tell them apart"
            raise SchemaError(where, field_path, problem, todo)
