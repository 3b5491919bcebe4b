"""The rules of a table file's keys beyond their types, as attrs validators."""

import re
from typing import TYPE_CHECKING, Any, Final

from ingest.config.rules import WrongValueError, key_of, not_empty, suggest, unknown_key
from ingest.names import Topic
from ingest.tables.evolution import RULES

if TYPE_CHECKING:
    import attrs

MAX_NAME: Final = 200
RESERVED: Final = ("_cdc_", "_hoodie_")
"""Prefixes of the columns that ingest and Hudi add themselves."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
_MAX_PRECISION: Final = 38
"""Of Spark's decimals (`DecimalType.MAX_PRECISION`)."""
_SIMPLE: Final = (
    *("string", "binary", "boolean", "int", "bigint", "float", "double"),
    *("date", "timestamp", "timestamp_ntz"),
)


def is_table_name(name: str) -> bool:
    """Tell whether a name is one safe step of a path: the table lies at `<lake>/<name>`."""
    fits = len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None
    return fits and not name.lower().startswith(("_rejects", "_locks"))


def _refuse(
    attribute: "attrs.Attribute[Any]", value: object, allowed: str, todo: str = ""
) -> WrongValueError:
    return WrongValueError(key_of(attribute), f"found '{value}'; allowed: {allowed}", todo)


def check_table_name(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    """Refuse a name that is not one safe step of a path."""
    if not is_table_name(value):
        allowed = (
            f"letters, digits and '_', not starting with a digit, '_rejects' or '_locks', "
            f"at most {MAX_NAME} characters"
        )
        raise _refuse(attribute, value, allowed, "It is the table's folder in the lake")


def check_topic(_: Any, attribute: "attrs.Attribute[Topic]", value: Topic) -> None:
    """Refuse a name that Kafka refuses."""
    if value and (_TOPIC.fullmatch(value) is None or value in {".", ".."}):
        raise _refuse(attribute, value, "letters, digits, '.', '_' and '-', at most 249 characters")


def check_placeholder(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    """Refuse an empty placeholder, or half a byte in hexadecimal."""
    not_empty(_, attribute, value)
    if value.startswith("hex:") and re.fullmatch("hex:([0-9A-Fa-f]{2})+", value) is None:
        raise WrongValueError(attribute.name, f"found '{value}'; allowed after 'hex:': pairs of 0-9 and a-f")


def check_column_names(_: Any, attribute: "attrs.Attribute[tuple[str, ...]]", value: tuple[str, ...]) -> None:
    """Refuse empty names and duplicates."""
    for name in value:
        if not name.strip():
            raise WrongValueError(attribute.name, "holds an empty column name")
        if value.count(name) > 1:
            raise WrongValueError(attribute.name, f"names the column '{name}' twice")


def check_column_type(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Refuse a type that columns cannot declare."""
    if value is None or value in _SIMPLE:
        return
    match = _DECIMAL.fullmatch(value)
    if match is None or not 1 <= int(match[1]) <= _MAX_PRECISION or int(match[2]) > int(match[1]):
        allowed = f"{', '.join(_SIMPLE)} and decimal(p,s) with p up to {_MAX_PRECISION} and s up to p"
        raise _refuse(attribute, value, allowed)


def check_new_name(_: Any, attribute: "attrs.Attribute[str | None]", value: str | None) -> None:
    """Refuse a column name that Hudi or ingest cannot store."""
    if value is not None and not is_column_name(value):
        allowed = (
            "letters, digits and '_', not starting with a digit, and a name that does not begin with "
            + " or ".join(RESERVED)
        )
        raise _refuse(attribute, value, allowed)


def check_path(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    """Refuse a path that does not start at the document."""
    if not value.startswith("$") or len(value) < len("$.a"):
        raise _refuse(attribute, value, "a path such as $.a.b or $.a[0]")


def check_policies(_: Any, attribute: "attrs.Attribute[dict[str, str]]", value: dict[str, str]) -> None:
    """Refuse unknown kinds of change, and policies that their kind does not have."""
    for kind, policy in value.items():
        key = f"{attribute.name}.{kind}"
        rule = next((rule for name, rule in RULES.items() if name == kind), None)
        if rule is None:
            raise unknown_key(key, kind.replace("_", "-"), list(RULES))
        if policy not in rule.effects:
            allowed = ", ".join(f"'{name}'" for name in rule.effects)
            raise WrongValueError(key, f"found '{policy}'; allowed: {allowed}", suggest(policy, rule.effects))


def check_hudi_options(_: Any, attribute: "attrs.Attribute[dict[str, str]]", value: dict[str, str]) -> None:
    """Refuse names that do not belong to Hudi."""
    for name in value:
        if not name.startswith("hoodie."):
            problem = "is not a Hudi option: those begin with 'hoodie.'"
            raise WrongValueError(f"{attribute.name}.{name}", problem)


def is_column_name(name: str) -> bool:
    """Tell whether a column can have a name: letters, digits and `_`, and no reserved prefix."""
    return _NAME.fullmatch(name) is not None and not name.lower().startswith(RESERVED)
