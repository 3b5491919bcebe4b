"""Write table files: a new one with comments, or additions to one that people edit."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import tomlkit

from ingest.config.rules import file_fields
from ingest.tables.defaults import FIXED, Defaults
from ingest.tables.file import parse_toml
from ingest.tables.table import Document, TableConfig

HEAD: Final = """\
Written by `ingest onboard`; edit it freely: later runs keep every edit.
`ingest show {}` prints every value that holds."""
_TOPICS: Final = frozenset({"topic", "topics"})
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def render(table: TableConfig, comments: Mapping[str, str], defaults: Defaults = Defaults()) -> str:
    """Write a new table file: what differs from `defaults` and the product, and the keys that are fixed.

    `comments` holds remarks by dotted key: the reason of a value, a caveat.  A comment on a key that the file
    does not hold goes to its head, with the key.
    """
    blocks = [block for block in _blocks(table, defaults) if block[2]]
    keys = {key for _, section, values in blocks for key in (section, *(_join(section, k) for k in values))}
    unplaced = [f"{key}: {comments[key]}" for key in sorted(comments.keys() - keys)]
    lines = _comment(HEAD.format(table.name), *unplaced)
    for header, section, values in blocks:
        fixed = ", ".join(name for name in values if _join(section, name) in FIXED)
        lines += ["", *_comment(comments.get(section, ""))] if section else []
        lines += [header] if header else []
        lines += _comment(f"Fixed at creation: {fixed}") if fixed else []
        for name, value in values.items():
            lines += _comment(comments.get(_join(section, name), ""))
            lines.append(f"{tomlkit.key(name).as_string()} = {tomlkit.item(value).as_string()}")
    return "\n".join(lines) + "\n"


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


def _blocks(table: TableConfig, defaults: Defaults) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield header, dotted key and values of each section."""
    plain: dict[str, Any] = {}
    sections: list[tuple[str, str, dict[str, Any]]] = []
    for name, field in file_fields(TableConfig).items():
        value = getattr(table, field.name)
        if isinstance(value, dict):
            sections += _named(f"{name}", value, getattr(defaults, name, {}))
        elif isinstance(value, Document):
            sections += _named("document.columns", value.columns, {})
        elif attrs.has(type(value)):
            base = getattr(defaults, name, None) or type(value)()
            sections.append((f"[{name}]", name, _differing(name, value, base)))
        elif value not in (field.default, ""):
            plain[name] = _plain_list(value)
    yield "", "", plain
    yield from sections


def _named(
    section: str, values: Mapping[str, Any], base: Mapping[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a section of texts that differ from `base`, or a section for each name."""
    yield (
        f"[{section}]",
        section,
        {name: value for name, value in values.items() if isinstance(value, str) and value != base.get(name)},
    )
    for name, value in values.items():
        if not isinstance(value, str):
            yield f"[{section}.{tomlkit.key(name).as_string()}]", f"{section}.{name}", _explicit(value)


def _differing(section: str, value: attrs.AttrsInstance, base: attrs.AttrsInstance) -> dict[str, Any]:
    """Return the values of a section that differ from `base`, and the fixed ones."""
    return {
        name: inner
        for name, inner in _explicit(value).items()
        if _join(section, name) in FIXED or inner != _plain_list(getattr(base, name))
    }


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
