"""A database as a value: how it quotes, how it writes a value as text, and how to read its log position."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import attrs

from ingest.sources.forms import BYTES, TEXTS, Form
from ingest.sql.template import Sql, join, sql

MD5: Final = "ingest_row_md5_number"
"""Spark's function that takes a row's values and returns the first 56 bits of their text's MD5 digest."""
Quote = Literal['"', "`", "["]


@attrs.frozen
class Checksum:
    """A row's checksum as a whole number of at most 64 bits. `{c}` is the row's text in the database.

    `spark` names Spark's function that computes it from the row's values.
    """

    source: Sql
    spark: str


ByType = tuple[tuple[str, Sql], ...]
"""SQL by the type of a column, as the database writes it. The first expression that matches counts."""


@attrs.frozen(kw_only=True)
class HashChecksum:
    """A checksum that joins one hash per column. Usable if each query of `conditions` returns `true`.

    It is cheaper than the checksum of the row's text, because most values need no text.  `{seed}` is the
    column's seed.
    """

    conditions: tuple[Sql, ...]
    hashes: Mapping[str, ByType]
    """The hash of a value, for forms that do not hash the value's text."""
    text: Sql
    """The hash of a text."""
    seed: Sql
    """The seed of the column `{number}`, counted from zero."""
    joined: str
    """The operator between two hashes."""
    none: Sql
    """A hash `{c}`, or nothing for null."""
    row: Sql
    """The checksum of the joined hashes."""
    spark: str

    def has(self, form: Form, column_type: str) -> bool:
        """Return whether a form hashes the value itself instead of its text."""
        return choose(self.hashes, form, column_type) is not None

    def hash_of(self, form: Form, column_type: str, number: int, value: Sql, text: Sql) -> Sql:
        """Return the hash of a column: of its value, or of its text."""
        chosen = choose(self.hashes, form, column_type)
        template = self.text.of(c=text) if chosen is None else chosen.of(c=value)
        return self.none.of(c=template.of(seed=self.seed.of(number=number)))


def choose(templates: Mapping[str, ByType], form: Form, column_type: str) -> Sql | None:
    """Return the SQL of a form for a column's type, its scale filled in."""
    for pattern, template in templates.get(form.name.removeprefix("small_"), ()):
        if re.fullmatch(pattern.replace("SCALE", str(form.scale)), column_type):
            return template.of(scale=form.scale)
    return None


@attrs.frozen
class Trap:
    """A property of a source by which changes do not arrive whole, or harm the source."""

    query: Sql
    """Schema, table, and a name to show, of each place that has it.  Schema and table may be empty."""
    text: str
    todo: str
    is_problem: bool = False
    """Whether it harms the source, or changes are lost."""


@attrs.frozen(kw_only=True)
class Database:
    """One database. In its templates `{c}` is a value, and `{h}` a digest in hexadecimal.

    `forms` gives the SQL of each form by the type of the column, as the database writes it. The first
    expression that matches the whole type counts.
    """

    name: str
    title: str
    drivers: Mapping[str, str]
    """The driver's class, by the start of the URL."""
    quotes: tuple[str, str]
    forms: Mapping[str, ByType]
    joined: Sql
    """Two texts, `{a}` and `{b}`, one after the other."""
    octets: Sql
    digest: Sql
    """The MD5 digest of a text, as lower-case hexadecimal in UTF-8."""
    exact: Sql = sql("{c}")
    """A text that equals another only if its octets do, whatever the collation of its column."""
    number: Sql
    """The first 14 digits of a digest as a whole number."""
    hashing: HashChecksum | None = None
    concat_skips_nulls: bool = False
    """Whether `concat` takes any number of values, and reads null as no text."""
    bucket: Sql
    """The first 7 digits of a digest, modulo `{n}`."""
    columns: Sql
    """Name and type of each column of `{schema}` and `{table}`, both literals, in order."""
    setup: tuple[Sql, ...] = ()
    """Statements at the beginning of a connection."""
    version: Sql = sql("0")
    """A number that changes with each version of a row, if the database has one."""
    position: Sql | None = None
    """The end of the log, as text."""
    delivered: Sql | None = None
    """How far the connector's `{slot}` has read towards `{position}`, both literals.

    The answer is `delivered`, `received` (by the connector, and not confirmed) or `pending`, or null unless
    exactly one slot has the name.
    """
    replica: Sql | None = None
    """Whether the server is a replica: `true` or `false`."""
    current: Sql | None = None
    """The name of the database."""
    traps: tuple[Trap, ...] = ()
    backslashes: bool = False
    """Whether a backslash escapes in a literal."""

    def ident(self, name: str) -> Sql:
        """Return a name, always quoted."""
        start, end = self.quotes
        return Sql((f"{start}{name.replace(end, end + end)}{end}",))

    def literal(self, text: str) -> Sql:
        """Return a text."""
        escaped = text.replace("'", "''")
        return Sql((f"'{escaped.replace(chr(92), chr(92) * 2) if self.backslashes else escaped}'",))

    def text(self, form: Form, column_type: str, value: Sql) -> Sql | None:
        """Return a value's text, or None if the database has no text for a column of that type."""
        if form.item is not None:
            return self._array(form.item, column_type, value)
        template = choose(self.forms, form, column_type)
        return None if template is None else template.of(c=value)

    def part(self, form: Form, text: Sql) -> Sql:
        """Return a text as a part of its row: free text after its length, and null as null."""
        if form.name in TEXTS:
            return self.joined.of(a=self.joined.of(a=self.octets.of(c=text), b=sql("':'")), b=text)
        return self.joined.of(a=sql("'x'"), b=text) if form.name == BYTES else text

    def concat(self, parts: Sequence[Sql]) -> Sql:
        """Return the parts of a row as one text. A null becomes an empty text, which no value has."""
        if self.concat_skips_nulls:
            return sql("concat({parts})", parts=join(", ',', ", parts))
        text, *others = (sql("coalesce({part}, '')", part=part) for part in parts)
        for part in others:
            text = self.joined.of(a=text, b=self.joined.of(a=sql("','"), b=part))
        return text

    @property
    def md5(self) -> Checksum:
        """The first 56 bits of a text's MD5 digest."""
        return Checksum(self.number.of(h=self.digest), MD5)

    def _array(self, item: Form, column_type: str, value: Sql) -> Sql | None:
        inner = self.text(item, column_type.removesuffix("[]"), sql("e.x"))
        template = next((template for _, template in self.forms.get("array", ())), None)
        if inner is None or template is None or not column_type.endswith("[]"):
            return None
        return template.of(c=value, item=sql("coalesce({part}, 'n')", part=self.part(item, inner)))


def both(*conditions: Sql | None) -> Sql:
    """Return the given conditions joined by `and`, or true without any."""
    given = [sql("({c})", c=condition) for condition in conditions if condition is not None]
    return join(" and ", given) if given else sql("1 = 1")
