"""Table files of any content for random tables, and what the tables hold then."""

import random
import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Final

import attrs
import tomlkit

from tests.e2e.deployment import Deployment
from tests.e2e.referee import Expected, Rows
from tests.e2e.referee.kind import Allowed
from tests.e2e.referee.moments import to_micros
from tests.e2e.referee.postgres import field_name
from tests.live.random_tables import RandomTable

SALT: Final = "a salt of thirty-two characters."
MODES: Final = ({}, {}, {"delete": "soft"}, {"mode": "history"})
INDEXES: Final = ("global_simple", "global_record")
_IN_FOLDERS: Final = re.compile(r"int|bigint|boolean|date$|numeric|decimal|char|varchar|uuid|enum")
"""Types of key columns, which have few values, that may name folders."""
_FEW: Final = re.compile(r"boolean|date$|char|varchar|enum")
"""The same of other columns."""
_TEXTS: Final = re.compile(r"text|char|varchar")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_CLOCK: Final = re.compile(r"time(\(\d\))?( without time zone)?")


@attrs.frozen
class RandomFile:
    """What one table's file says besides the defaults, under the names of its columns in events."""

    table: RandomTable
    target: Mapping[str, Any]
    types: Mapping[str, str]
    columns: Mapping[str, Mapping[str, Any]]
    where: str = ""
    """A column that may not be null."""

    @staticmethod
    def draw(table: RandomTable, chance: random.Random) -> "RandomFile":
        """Choose a file that a new table may have, and keep the columns that it depends on."""
        target = {"type": chance.choice(("cow", "mor")), "buckets": chance.choice((1, 2, 3))}
        target |= chance.choice(MODES)
        target |= chance.choice(({}, {"table_version": 8}))
        types = {"timestamps": chance.choice(("ntz", "utc")), "time": chance.choice(("string", "micros"))}
        if chance.random() < 0.25:
            target |= _partitions(table, chance)
        free = [name for name in table.others() if name not in table.kept]
        where = chance.choice(free) if free and chance.random() < 0.2 else ""
        if where and (not _may_choose(table, where) or not (table.sends_all or "delete" in target)):
            where = ""
        if where:
            table.kept.add(where)
        columns = {field_name(name): _column(table, name, chance) for name in free if name != where}
        return RandomFile(table, target, types, {k: v for k, v in columns.items() if v}, where)

    def write(self, deployment: Deployment, table: str) -> None:
        """Write it into the file of a table."""
        path = deployment.tables / f"{table}.toml"
        document = tomlkit.parse(path.read_text())
        _set(document, "target", self.target)
        _set(document, "types", self.types)
        document.setdefault("columns", tomlkit.table()).update(self.columns)
        if self.where:
            source = f"{self.table.dialect.name(self.where)} is not null"
            _set(
                document, "rows", {"where": f"`{field_name(self.where)}` is not null", "source_where": source}
            )
        path.write_text(tomlkit.dumps(document))

    def rebuilt(self, chance: random.Random) -> "RandomFile":
        """Return the file with another shape of the same rows."""
        return attrs.evolve(self, target={**self.target, "buckets": chance.choice((1, 2, 3, 4))})

    def without(self, names: Collection[str]) -> "RandomFile | None":
        """Return the file without columns of the table, or nothing if they are needed."""
        fields = {field for field in map(field_name, self.table.columns) if self._stored_name(field) in names}
        if fields & {*map(field_name, (*self.table.keys, *self.table.kept))}:
            return None
        return attrs.evolve(self, columns={**self.columns, **{name: {"exclude": True} for name in fields}})

    def shown(self, source: Expected) -> Expected:
        """Return the rows of the source as the table shows them."""
        names = {name: self._stored_name(name) for name in source.kinds if not self._is("exclude", name)}
        keys = tuple(names[key] for key in source.keys)
        rows: Rows = {}
        for row in source.rows.values():
            if self.where and row[field_name(self.where)] is None:
                continue
            shown = {new: self._shown(name, row[name]) for name, new in names.items()}
            rows[tuple(shown[key] for key in keys)] = shown
        kinds = {new: source.kinds[name] for name, new in names.items() if not self._is("mask", name)}
        return Expected(rows, keys, kinds)

    def _is(self, key: str, name: str) -> bool:
        return key in self.columns.get(name, {})

    def _stored_name(self, name: str) -> str:
        return self.columns.get(name, {}).get("rename", name)

    def _shown(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if self._is("mask", name):
            return _MASKED[self.columns[name]["mask"]](value)
        if isinstance(value, datetime) and self.types["timestamps"] == "utc":
            return to_micros(value)
        if self.types["time"] == "micros" and self._is_clock(name):
            return _micros(value)
        return value

    def _is_clock(self, name: str) -> bool:
        kinds = {field_name(column): kind for column, kind in self.table.columns.items()}
        return bool(_CLOCK.fullmatch(kinds[name]))


def _partitions(table: RandomTable, chance: random.Random) -> dict[str, Any]:
    able = [n for n, kind in table.columns.items() if (_IN_FOLDERS if n in table.keys else _FEW).match(kind)]
    if not able:
        return {}
    chosen = chance.choice(able)
    table.kept.add(chosen)
    outside = {} if chosen in table.keys else {"index": chance.choice(INDEXES)}
    hive_style = chance.random() < 0.5
    return {"partition_by": [field_name(chosen)], "hive_style_partitions": hive_style, **outside}


def _may_choose(table: RandomTable, name: str) -> bool:
    """Whether the values of a column are null in the table only where the source has null."""
    kind = table.columns[name]
    return kind not in table.dialect.kinds.null_values and not kind.startswith(("date", "time"))


def _column(table: RandomTable, name: str, chance: random.Random) -> dict[str, Any]:
    masks = ["redact", "null"]
    kind = table.columns[name]
    if "[" not in kind and _may_choose(table, name):
        masks.append("hash")
    if _TEXTS.match(kind):
        masks.append("last4")
    match chance.choice(("", "", "", "", "exclude", "rename", "mask")):
        case "exclude" if len(table.others()) > 1:
            return {"exclude": True}
        case "rename":
            return {"rename": f"{field_name(name)}_renamed"}
        case "mask":
            return {"mask": chance.choice(masks)}
        case _:
            return {}


def _set(document: Any, section: str, values: Mapping[str, Any]) -> None:
    document.setdefault(section, tomlkit.table()).update(values)


def _micros(text: str) -> int:
    """Read a time of day, or MariaDB's longer and negative ones, as microseconds."""
    sign, hours, minutes, seconds, fraction = re.fullmatch(
        r"(-?)(\d+):(\d+):(\d+)(?:\.(\d+))?", text
    ).groups()  # type: ignore[union-attr] # asserts
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    return -micros if sign else micros


_MASKED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "redact": lambda _: "***",
    "null": lambda _: None,
    "last4": lambda text: "****" + (text[-4:] if len(text) > 7 else ""),
    "hash": lambda _: Allowed("a hash", lambda found: bool(_HASH.fullmatch(found))),
}
