"""A table file's content as values, with the rules that a text must hold beyond its type."""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

import attrs

from ingest.names import Subject, Topic
from ingest.tables.evolution import RULES, Kind, Policy, policy_of
from ingest.tables.rejects import Rejects
from ingest.tables.rules import WrongValueError, between, suggest

DialectName = Literal["sqlserver", "oracle", "mongodb", "postgres", "mysql", "cdl", "record"]
Format = Literal["avro", "debezium-json", "cdl-json"]

MAX_NAME: Final = 200
RESERVED: Final = ("_cdc_", "_hoodie_")
"""Prefixes of the columns that ingest and Hudi add themselves."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
_SIMPLE: Final = (
    *("string", "binary", "boolean", "int", "bigint", "float", "double"),
    *("date", "timestamp", "timestamp_ntz"),
)


def is_table_name(name: str) -> bool:
    """Tell whether a name is one safe step of a path: the table lies at `<lake>/<name>`."""
    fits = len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None
    return fits and not name.lower().startswith(("_rejects", "_locks"))


def _table_name(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not is_table_name(value):
        raise WrongValueError(
            attribute.name,
            f"found '{value}'; allowed: letters, digits and '_', no digit first, at most {MAX_NAME} "
            "characters, not beginning with '_rejects' or '_locks'",
            "It is the table's folder in the lake",
        )


def _topic(_: Any, attribute: "attrs.Attribute[Topic]", value: Topic) -> None:
    if _TOPIC.fullmatch(value) is None or value in {".", ".."}:
        allowed = "letters, digits, '.', '_' and '-', at most 249 characters"
        raise WrongValueError(attribute.name, f"found '{value}'; allowed: {allowed}")


def _filled(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    if value is not None and not value.strip():
        raise WrongValueError(attribute.name, "is empty")


def _placeholder(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    _filled(_, attribute, value)
    if value.startswith("hex:") and re.fullmatch("hex:([0-9A-Fa-f]{2})+", value) is None:
        raise WrongValueError(attribute.name, f"found '{value}'; allowed after 'hex:': pairs of 0-9 and a-f")


def _column_names(_: Any, attribute: "attrs.Attribute[tuple[str, ...]]", value: tuple[str, ...]) -> None:
    for name in value:
        if not name.strip():
            raise WrongValueError(attribute.name, "holds an empty column name")
        if value.count(name) > 1:
            raise WrongValueError(attribute.name, f"names the column '{name}' twice")


def _column_type(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    if value is None or value in _SIMPLE:
        return
    found = _DECIMAL.fullmatch(value)
    if found is None or not 1 <= int(found[1]) <= 38 or int(found[2]) > int(found[1]):  # noqa: PLR2004 - Spark's own limit
        allowed = f"{', '.join(_SIMPLE)} and decimal(p,s) with p up to 38 and s up to p"
        raise WrongValueError(attribute.name, f"found '{value}'; allowed: {allowed}")


def _own_name(_: Any, attribute: "attrs.Attribute[str | None]", value: str | None) -> None:
    if value is not None and (_NAME.fullmatch(value) is None or value.lower().startswith(RESERVED)):
        allowed = (
            "letters, digits and '_', no digit first, and a name that does not begin with "
            + " or ".join(RESERVED)
        )
        raise WrongValueError(attribute.name, f"found '{value}'; allowed: {allowed}")


def _path(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not value.startswith("$") or len(value) < len("$.a"):
        raise WrongValueError(attribute.name, f"found '{value}'; allowed: a path such as $.a.b or $.a[0]")


def _policies(_: Any, attribute: "attrs.Attribute[dict[str, str]]", value: dict[str, str]) -> None:
    for kind, policy in value.items():
        rule = next((rule for name, rule in RULES.items() if name == kind), None)
        if rule is None:
            problem = f"unknown kind of change; allowed: {', '.join(RULES)}"
            todo = suggest(kind.replace("_", "-"), RULES)
            raise WrongValueError(f"{attribute.name}.{kind}", problem, todo)
        if policy not in rule.effects:
            allowed = ", ".join(f"'{one}'" for one in rule.effects)
            raise WrongValueError(f"{attribute.name}.{kind}", f"found '{policy}'; allowed: {allowed}")


def _hudi_options(_: Any, attribute: "attrs.Attribute[dict[str, str]]", value: dict[str, str]) -> None:
    for name in value:
        if not name.startswith("hoodie."):
            problem = "is no Hudi option: those begin with 'hoodie.'"
            raise WrongValueError(f"{attribute.name}.{name}", problem)


@attrs.frozen(kw_only=True)
class Subjects:
    """The registry subjects of a topic; None where no registry holds the schema of keys or of values."""

    key: Subject | None = attrs.field(default=None, validator=_filled)
    value: Subject | None = attrs.field(default=None, validator=_filled)


@attrs.frozen
class Key:
    """The record key; no columns means those of the key subject."""

    columns: tuple[str, ...] = attrs.field(default=(), validator=_column_names)


@attrs.frozen
class Target:
    """The Hudi table: fixed when it is created, but for `delete` and `truncate`.

    In mode `append` every change is a row of its own, by its place in the topic.
    """

    type: Literal["cow", "mor"] = "cow"
    mode: Literal["upsert", "append"] = "upsert"
    partition_by: tuple[str, ...] = attrs.field(default=(), validator=_column_names)
    delete: Literal["hard", "soft"] = "hard"
    index: Literal["bucket", "global_simple"] = "bucket"
    buckets: int = attrs.field(default=2, validator=between(1, 4096))
    first_load: Literal["upsert", "bulk_insert"] = "upsert"
    truncate: Literal["apply", "ignore", "fail"] = "apply"


@attrs.frozen
class Types:
    """How semantic types become Spark types; every default loses nothing silently."""

    time: Literal["string", "micros"] = "string"
    nanos: Literal["timestamp", "bigint", "string"] = "timestamp"
    decimals: Literal["string", "fail"] = "string"
    beyond: Literal["fail", "null"] = "fail"
    placeholder: str = attrs.field(default="__debezium_unavailable_value", validator=_placeholder)


@attrs.frozen
class Column:
    """What a person says about one column."""

    type: str | None = attrs.field(default=None, validator=_column_type)
    nanos: Literal["timestamp", "bigint", "string"] | None = None
    time: Literal["string", "micros"] | None = None
    beyond: Literal["fail", "null"] | None = None
    rename: str | None = attrs.field(default=None, validator=_own_name)
    exclude: bool = False

    def __attrs_post_init__(self) -> None:
        said = (self.type, self.nanos, self.time, self.beyond, self.rename)
        if self.exclude and any(one is not None for one in said):
            raise WrongValueError("exclude", "an excluded column has no type and no other name")


@attrs.frozen
class DocumentColumn:
    """A column made of a document: the value at a path such as `$.a.b[0]`, as a Spark type."""

    path: str = attrs.field(validator=_path)
    type: str = attrs.field(default="string", validator=_column_type)


@attrs.frozen
class Document:
    """The columns beside the document itself, by name (MongoDB)."""

    columns: dict[str, DocumentColumn] = attrs.Factory(dict)

    def __attrs_post_init__(self) -> None:
        for name in self.columns:
            if _NAME.fullmatch(name) is None or name.lower().startswith(RESERVED):
                raise WrongValueError(f"columns.{name}", "is no column name: letters, digits and '_'")


@attrs.frozen
class TableConfig:
    """One table file.

    `epoch` leads every position: raise it after the source was re-created.  `schema` names the file with the
    schema of messages that neither hold it themselves nor have one in a registry (JSON).  `schema_changes` is
    the connector's topic of schema changes, which `ingest status` shows.  `evolution` holds policies by kind
    of change (see `ingest.tables.evolution`).  `name` is the file's key `table`.
    """

    name: str = attrs.field(validator=_table_name, metadata={"key": "table"})
    topic: Topic = attrs.field(validator=_topic)
    dialect: DialectName
    subjects: Subjects = Subjects()
    format: Format = "avro"
    schema: str | None = attrs.field(default=None, validator=_filled)
    schema_changes: Topic | None = None
    epoch: int = attrs.field(default=0, validator=between(0, 9999))
    key: Key = Key()
    target: Target = Target()
    types: Types = Types()
    columns: dict[str, Column] = attrs.Factory(dict)
    document: Document = Document()
    evolution: dict[str, str] = attrs.field(factory=dict, validator=_policies)
    rejects: Rejects = Rejects()
    hudi: dict[str, str] = attrs.field(factory=dict, validator=_hudi_options)

    def __attrs_post_init__(self) -> None:
        if self.format == "avro" and self.subjects.value is None:
            raise WrongValueError("subjects.value", "is missing")
        if self.dialect == "record" and self.target.mode != "append":
            raise WrongValueError(
                "target.mode", "plain records have no order of changes", 'Set it to "append"'
            )
        _check_excluded("key.columns", self.key.columns, self.columns)
        _check_excluded("target.partition_by", self.target.partition_by, self.columns)
        renamed: dict[str, str] = {}
        for name, column in self.columns.items():
            if column.rename is None:
                continue
            other = renamed.setdefault(column.rename.lower(), name)  # Spark ignores a name's case
            if other != name:
                problem = f"'{column.rename}' is also the new name of column '{other}'"
                raise WrongValueError(f"columns.{name}.rename", problem)

    def policy(self, kind: Kind) -> Policy:
        """Return what is to be done about a kind of change."""
        return policy_of(self.evolution, kind)


def key_of(field: "attrs.Attribute[Any]") -> str:
    """Return the TOML key of a field: its name, unless its metadata gives another."""
    return str(field.metadata.get("key", field.name))


def _check_excluded(key: str, names: Iterable[str], columns: dict[str, Column]) -> None:
    for name in names:
        if name in columns and columns[name].exclude:
            raise WrongValueError(key, f"names the column '{name}', which is excluded")
