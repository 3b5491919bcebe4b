"""Write table files: a new one with comments, or additions to one that people edit."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import tomlkit

from ingest.config.rules import file_fields, help_of, key_of
from ingest.tables.file import parse_toml
from ingest.tables.table import TableConfig

HEAD: Final = "Written by `ingest onboard`; edit it freely: later runs keep every edit."
WIDTH: Final = 100
"""Columns of a comment line."""
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_TOPICS: Final = frozenset({"topic", "topics"})
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def render(table: TableConfig, comments: Mapping[str, str]) -> str:
    """Write a new table file.  `comments` holds remarks by dotted key: the reason of a value, a caveat.

    A comment on a key that the file does not hold goes to its head, with the key.
    """
    blocks = list(_blocks(table))
    keys = {key for _, section, values in blocks for key in (section, *(_join(section, k) for k in values))}
    unplaced = [f"{key}: {comments[key]}" for key in sorted(comments.keys() - keys)]
    helps = key_helps()
    lines: list[str] = []
    for header, section, values in blocks:
        lines += [""] if section else []
        lines += _comment(helps.get(section, "") if section else HEAD, comments.get(section, ""))
        lines += [header] if header else []
        lines += [] if section else _comment(*unplaced)
        for name, value in values.items():
            key = _join(section, name)
            lines += _comment(helps.get(key, ""), comments.get(key, ""))
            lines.append(f"{tomlkit.key(name).as_string()} = {tomlkit.item(value).as_string()}")
    return "\n".join(lines) + "\n"


def key_helps() -> dict[str, str]:
    """Return the help of every key and section of a table file as plain text, by dotted key."""
    helps: dict[str, str] = {}
    for field in file_fields(TableConfig).values():
        helps[key_of(field)] = _plain(field)
        if field.type and attrs.has(field.type):
            helps |= {f"{key_of(field)}.{key_of(inner)}": _plain(inner) for inner in attrs.fields(field.type)}
    return helps


def _plain(field: "attrs.Attribute[Any]") -> str:
    """Return a field's help without its Markdown, with its example, as lines of a comment."""
    text = _LINK.sub(r"\1 in the documentation", help_of(field)).replace("`", "")
    example = field.metadata.get("example")
    lines = textwrap.wrap(text, WIDTH)
    if example:
        lines += ["Example:", *(f"  {line}" for line in example.splitlines())]
    return "\n".join(lines)


def merge(existing_text: str, table: TableConfig) -> str:
    """Add to a file the keys that it cannot be read without, and the columns that it does not mention.

    Everything else stays, comments and order too.  A key with a default is not added: people may have
    removed it, and `target` is fixed by the table that exists.  Returns the same text if nothing is missing.
    """
    present = parse_toml(existing_text, f"{table.name}.toml")
    document = tomlkit.parse(existing_text)
    topic = ("topics", list[str](table.topics)) if table.topics else ("topic", str(table.topic))
    for key, value in (("table", table.name), topic, ("dialect", table.dialect)):
        if key not in present and not (key in _TOPICS and present.keys() & _TOPICS):
            document.add(key, value)
    _add_missing(document, present, "subjects", _explicit(table.subjects))
    columns = {name: _explicit(column) for name, column in table.columns.items()}
    _add_missing(document, present, "columns", columns)
    return tomlkit.dumps(document)


def _add_missing(
    document: tomlkit.TOMLDocument, present: Mapping[str, Any], section: str, values: Mapping[str, Any]
) -> None:
    existing = present.get(section, {})
    if not isinstance(existing, dict):  # a person's mistake: `read` names it
        return
    for name, value in values.items():
        if name not in existing:
            if section not in document:
                document.add(section, tomlkit.table())
            document[section][name] = value


def _blocks(table: TableConfig) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield header, dotted key and values of each section."""
    head = (
        *("name", "topic", "topics", "source_table", "dialect", "format", "schema", "schema_changes"),
        "epoch",
    )
    fields = [field for field in attrs.fields(TableConfig) if field.name in head]
    values = {key_of(field): _plain_list(getattr(table, field.name)) for field in fields}
    yield "", "", {key: value for key, value in values.items() if value not in (None, "", [])}
    if table.topics:
        yield "[shards]", "shards", _explicit(table.shards)
    for name in ("subjects", "key", "target", "types"):
        yield f"[{name}]", name, _explicit(getattr(table, name))
    yield "", "columns", {}
    for name, column in table.columns.items():
        yield f"[columns.{tomlkit.key(name).as_string()}]", f"columns.{name}", _explicit(column)
    if table.rows.where is not None:
        yield "[rows]", "rows", _explicit(table.rows)
    yield "[evolution]", "evolution", dict(table.evolution)
    yield "[rejects]", "rejects", _explicit(table.rejects)
    yield "[hudi]", "hudi", dict(table.hudi)


def _explicit(section: attrs.AttrsInstance) -> dict[str, Any]:
    """Return the values of a section without null and false, the defaults of a column."""
    values = {name: _plain_list(v) for name, v in attrs.asdict(section).items()}
    return {name: v for name, v in values.items() if v is not None and v is not False}


def _plain_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _join(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _comment(*texts: str) -> list[str]:
    """Write texts as comment lines, so that no line of a remark can become a key."""
    lines = [line for text in texts for line in _CONTROL.sub("?", text).splitlines()]
    return [f"# {line}".rstrip() for line in lines]
