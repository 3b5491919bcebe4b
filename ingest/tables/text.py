"""Write table files: a new one with comments, or into one that people edit without touching their words."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import tomlkit

from ingest.tables.file import parse_toml
from ingest.tables.table import TableConfig, key_of

_SECTIONS: Final = {
    "": "Written by `ingest onboard`; edit it freely: what is here is never overwritten.",
    "subjects": "The registry subjects that hold the schemas of the topic's keys and values.",
    "key": "The record key. Without columns: those of the key subject.",
    "target": "The Hudi table. All but `delete` is fixed when the table is created.",
    "types": "How types without a like in Spark are stored; the defaults lose nothing silently.",
    "columns": "What one column needs: type, time, nanos, beyond, rename or exclude, such as\n"
    '  [columns.amount]\n  type = "decimal(20,4)"',
    "evolution": "What a change of the schema does, by kind: evolve, ignore, reject or fail, such as\n"
    '  column-dropped = "fail"',
    "rejects": "Records set aside in one run, at the most; above either bound it fails and commits nothing.",
    "hudi": "Any hoodie.* option that ingest does not set itself.",
}
_KEYS: Final = {
    "epoch": "Raise it after the source was created anew: it leads the order of all changes.",
    "target.type": "cow: fast reads; mor: fast, small commits.",
    "target.mode": "upsert: one row a key, the newest; append: every change a row, no key needed.",
    "target.truncate": "What a TRUNCATE does: apply, ignore or fail.",
    "target.index": "bucket: by key; global_simple: for partition columns outside the key.",
    "types.time": "string: all digits of the source; micros: microseconds since midnight.",
    "types.decimals": "Of more than 38 digits. string: all of them, as text; fail: stop.",
    "types.beyond": "Infinity, and dates outside the years 1 to 9999. fail: set aside; null: store null.",
    "types.placeholder": "The connector's unavailable.value.placeholder.",
    "rejects.max_share": "Of the messages that a run reads; 1.0: max_rows alone counts.",
    "types.nanos": "timestamp: to 1 µs; bigint or string: all nine digits.",
}


_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def render(table: TableConfig, comments: Mapping[str, str]) -> str:
    """Write a new table file; `comments` holds remarks by dotted key: the reason of a value, a doubt.

    A remark on a key that the file does not hold stands at its head, with the key.
    """
    blocks = list(_blocks(table))
    placed = {key for _, section, values in blocks for key in (section, *(_join(section, k) for k in values))}
    others = [f"{key}: {comments[key]}" for key in sorted(comments.keys() - placed)]
    lines: list[str] = []
    for header, section, values in blocks:
        lines += [""] if section else []
        lines += _comment(_SECTIONS.get(section, ""), comments.get(section, ""))
        lines += [header] if header else []
        lines += [] if section else _comment(*others)
        for name, value in values.items():
            key = _join(section, name)
            lines += _comment(_KEYS.get(key, ""), comments.get(key, ""))
            lines.append(f"{tomlkit.key(name).as_string()} = {tomlkit.item(value).as_string()}")
    return "\n".join(lines) + "\n"


def merge(existing_text: str, table: TableConfig) -> str:
    """Add to a file what it cannot be read without, and columns that it says nothing of.

    What is there stays, comments and order too.  A key with a default is not added: people may have taken
    it out, and `target` is fixed by the table that exists.  Gives the same text when nothing is missing.
    """
    present = parse_toml(existing_text, f"{table.name}.toml")
    document = tomlkit.parse(existing_text)
    for key, value in (("table", table.name), ("topic", table.topic), ("dialect", table.dialect)):
        if key not in present:
            document.add(key, value)
    _add_missing(document, present, "subjects", _said(table.subjects))
    columns = {name: _said(column) for name, column in table.columns.items()}
    _add_missing(document, present, "columns", columns)
    return tomlkit.dumps(document)


def _add_missing(
    document: tomlkit.TOMLDocument, present: Mapping[str, Any], section: str, wanted: Mapping[str, Any]
) -> None:
    there = present.get(section, {})
    if not isinstance(there, dict):  # a mistake of the person's: `read` names it
        return
    for name, value in wanted.items():
        if name not in there:
            if section not in document:
                document.add(section, tomlkit.table())
            document[section][name] = value


def _blocks(table: TableConfig) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give header, dotted key and values of each section."""
    head = ("name", "topic", "dialect", "format", "schema", "schema_changes", "epoch")
    fields = [field for field in attrs.fields(TableConfig) if field.name in head]
    yield "", "", {key_of(one): v for one in fields if (v := getattr(table, one.name)) is not None}
    for name in ("subjects", "key", "target", "types"):
        yield f"[{name}]", name, _said(getattr(table, name))
    yield "", "columns", {}
    for name, column in table.columns.items():
        yield f"[columns.{tomlkit.key(name).as_string()}]", f"columns.{name}", _said(column)
    yield "[evolution]", "evolution", dict(table.evolution)
    yield "[rejects]", "rejects", _said(table.rejects)
    yield "[hudi]", "hudi", dict(table.hudi)


def _said(section: attrs.AttrsInstance) -> dict[str, Any]:
    """Give what a section says; of a column, only what differs from silence."""
    values = {name: list(v) if isinstance(v, tuple) else v for name, v in attrs.asdict(section).items()}
    return {name: v for name, v in values.items() if v is not None and v is not False}


def _join(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _comment(*texts: str) -> list[str]:
    """Write texts as comment lines; no line of a remark can become a key."""
    lines = [line for text in texts for line in _CONTROL.sub("?", text).splitlines()]
    return [f"# {line}".rstrip() for line in lines]
