"""A database as a value: how it quotes, which text it gives a value, where its log is."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import attrs

from ingest.typemap.sql import Sql, join, sql
from ingest.verify.forms import BYTES, TEXTS, Form

MD5: Final = "ingest_row_md5_number"
"""Spark's function of a row's values for the first 56 bits of its text's MD5 digest."""
Quote = Literal['"', "`", "["]


@attrs.frozen
class Checksum:
    """A checksum of a row as a whole number of at most 64 bits: `{c}` is the row's text in the database.

    `spark` is the name of Spark's function of its values.
    """

    source: Sql
    spark: str


@attrs.frozen
class NativeChecksum:
    """A checksum that is cheaper than MD5, where every one of the queries returns `true`."""

    conditions: tuple[Sql, ...]
    checksum: Checksum


@attrs.frozen(kw_only=True)
class Database:
    """One database; in its templates `{c}` is a value, `{h}` a digest in hexadecimal.

    `forms` gives the SQL of each form by the type of the column, as the database writes it: the first
    expression that matches the whole type.
    """

    name: str
    title: str
    drivers: Mapping[str, str]
    """The driver's class, by the start of the URL."""
    quotes: tuple[str, str]
    forms: Mapping[str, tuple[tuple[str, Sql], ...]]
    outputs: Mapping[str, tuple[tuple[str, Sql], ...]] = {}
    """The SQL of forms whose values `concat` puts out as their text."""
    joined: Sql
    """Two texts, `{a}` and `{b}`, one after the other."""
    octets: Sql
    digest: Sql
    """The MD5 digest of a text, as lower-case hexadecimal in UTF-8."""
    exact: Sql = sql("{c}")
    """A text that equals another only if its octets do, whatever the collation of its column."""
    number: Sql
    """The first 14 digits of a digest as a whole number."""
    native: NativeChecksum | None = None
    concat_skips_nulls: bool = False
    """Whether `concat` takes any number of values, and reads null as no text."""
    bucket: Sql
    """The first 7 digits of a digest, modulo `{n}`."""
    columns: Sql
    """Name and type of each column of `{schema}` and `{table}`, both literals, in order."""
    setup: tuple[Sql, ...] = ()
    """Statements at the beginning of a connection."""
    version: Sql = sql("0")
    """A number that changes with each version of a row, where the database has one."""
    position: Sql | None = None
    """The end of the log, as text."""
    delivered: Sql | None = None
    """How far `{position}` is by the connector's `{slot}`, both literals; null without one slot of that name.

    The answer is `delivered`, `received` (by the connector, and not confirmed) or `pending`.
    """
    replica: Sql | None = None
    """Whether the server is a replica: `true` or `false`."""
    current: Sql | None = None
    """The name of the database."""
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
        """Return the text of a value; None where the database has none for a column of that type."""
        if form.item is not None:
            return self._array(form.item, column_type, value)
        return self._chosen(self.forms, form, column_type, value)

    def output(self, form: Form, column_type: str, value: Sql) -> Sql | None:
        """Return what `concat` of a row takes for a value: its text, or a value of that output."""
        return self._chosen(self.outputs, form, column_type, value) or self.text(form, column_type, value)

    def part(self, form: Form, text: Sql) -> Sql:
        """Return a text as a part of its row: a length before free text; null for null."""
        if form.name in TEXTS:
            return self.joined.of(a=self.joined.of(a=self.octets.of(c=text), b=sql("':'")), b=text)
        return self.joined.of(a=sql("'x'"), b=text) if form.name == BYTES else text

    def concat(self, parts: Sequence[Sql]) -> Sql:
        """Return the parts of a row as one text; null as no text, which no value has."""
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

    @staticmethod
    def _chosen(
        forms: Mapping[str, tuple[tuple[str, Sql], ...]], form: Form, column_type: str, value: Sql
    ) -> Sql | None:
        for pattern, template in forms.get(form.name.removeprefix("small_"), ()):
            if re.fullmatch(pattern.replace("SCALE", str(form.scale)), column_type):
                return template.of(c=value, scale=form.scale)
        return None

    def _array(self, item: Form, column_type: str, value: Sql) -> Sql | None:
        inner = self.text(item, column_type.removesuffix("[]"), sql("e.x"))
        template = next((template for _, template in self.forms.get("array", ())), None)
        if inner is None or template is None or not column_type.endswith("[]"):
            return None
        return template.of(c=value, item=sql("coalesce({part}, 'n')", part=self.part(item, inner)))


def both(*conditions: Sql | None) -> Sql:
    """Return the conditions that are given, joined by `and`; true without any."""
    given = [sql("({c})", c=condition) for condition in conditions if condition is not None]
    return join(" and ", given) if given else sql("1 = 1")
