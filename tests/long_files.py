"""Table files with every key written out, as `ingest onboard` wrote them before `[defaults]`.

Tests edit their lines.  They show that such files keep their meaning, too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import tomlkit

from ingest.config.rules import key_of
from ingest.tables import CONFLUENT, TableConfig, read

HEAD = ("name", "topic", "topics", "source_table", "dialect", "format", "schema", "schema_changes", "epoch")


def write_out(folder: Path) -> None:
    """Write out the keys of all files of a folder that `ingest onboard` has just written."""
    for path in folder.glob("*.toml"):
        if "[evolution]" not in path.read_text(encoding="utf-8"):
            path.write_text(long_form(read(path)), encoding="utf-8")


def long_form(table: TableConfig) -> str:
    """Return a table file with every key of a table."""
    lines: list[str] = []
    for header, values in _sections(table):
        lines += ["", header] if header else []
        lines += [
            f"{tomlkit.key(name).as_string()} = {tomlkit.item(value).as_string()}"
            for name, value in values.items()
        ]
    return "\n".join(lines) + "\n"


def _sections(table: TableConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    fields = [field for field in attrs.fields(TableConfig) if field.name in HEAD]
    head = {key_of(field): _plain(getattr(table, field.name)) for field in fields}
    head |= {} if table.framings == CONFLUENT else {"framings": list(table.framings)}
    yield "", {key: value for key, value in head.items() if value not in (None, "", [])}
    if table.topics:
        yield "[shards]", _values(table.shards)
    for name in ("subjects", "key", "target", "types"):
        yield f"[{name}]", _values(getattr(table, name))
    for name, column in table.columns.items():
        yield f"[columns.{tomlkit.key(name).as_string()}]", _values(column)
    if table.rows.where is not None:
        yield "[rows]", _values(table.rows)
    yield "[evolution]", dict(table.evolution)
    yield "[rejects]", _values(table.rejects)
    yield "[hudi]", dict(table.hudi)


def _values(section: attrs.AttrsInstance) -> dict[str, Any]:
    values = attrs.asdict(section, recurse=False)
    return {name: _plain(value) for name, value in values.items() if value is not None and value is not False}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
