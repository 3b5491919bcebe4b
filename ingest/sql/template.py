"""Spark SQL as a value: the only module that writes a quote or a backtick, or fills a template.

    sql("if({c} is null, null, {text})", c=sql("event.value").field("it's"), text=literal("{c}"))

A template is parsed once, at its definition.  Its holes take SQL: a name by `ident`, a text by `literal`,
a keyword by `word`, another template.  One pass puts the parts together and reads no part again, so
braces, quotes and backticks in a name or a text never count as SQL, wherever the name or the text comes from.

Templates are constants of this code, and `tests/contract/test_sql.py` refuses all others.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import attrs

_HOLE: Final = re.compile(r"\{(\w+(?:\.\w+)?)\}")
_WORD: Final = re.compile(r"\w+", re.ASCII)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # Spark's lexer accepts no other letters
# Quote, backslash and control characters, halves of surrogate pairs, which UTF-8 cannot carry to the JVM, the
# brace of `${`, which Spark replaces in every SQL text of a session that substitutes variables.
_ESCAPED: Final = re.compile(r"['\\\x00-\x1f\x7f\ud800-\udfff]|(?<=\$)\{")


@attrs.frozen
class Hole:
    """The place of an expression that a template does not hold yet."""

    name: str


@attrs.frozen
class Sql:
    """An expression of Spark SQL, or a template while it has holes."""

    parts: tuple[str | Hole, ...]

    @property
    def holes(self) -> frozenset[str]:
        """The names of the holes that are still open."""
        return frozenset(part.name for part in self.parts if isinstance(part, Hole))

    def of(self, **expressions: "Sql | int") -> "Sql":
        """Fill the holes of these names, and leave the others open."""
        filled: list[str | Hole] = []
        for part in self.parts:
            match expressions.get(part.name) if isinstance(part, Hole) else None:
                case Sql(parts):
                    filled += parts
                case int() as number:
                    filled.append(str(number))
                case None:
                    filled.append(part)
                case other:
                    raise TypeError(f"{other!r} is not SQL: make it a literal or a name")
        return _joined(filled)

    def field(self, name: str) -> "Sql":
        """Return a field of this struct."""
        return sql("{c}.{name}", c=self, name=ident(name))

    def alias(self, name: str) -> "Sql":
        """Return the expression as a column of that name."""
        return sql("{c} as {name}", c=self, name=ident(name))

    def alias_plain(self, name: str) -> "Sql":
        """Return the expression as a column of that name, in the SQL of any database."""
        return sql("{c} as {name}", c=self, name=word(name))

    def __str__(self) -> str:
        """Return the text for Spark's parser.  Raises `ValueError` for a hole that is still open."""
        if self.holes:
            raise ValueError(f"the holes {sorted(self.holes)} are not filled in {self.parts}")
        return "".join(map(str, self.parts))


def sql(template: str, **expressions: Sql | int) -> Sql:
    """Parse a template, `{name}` being its holes, and fill those that are given."""
    parsed = _parsed(template)
    return parsed.of(**expressions) if expressions else parsed


@cache
def _parsed(template: str) -> Sql:
    pieces = _HOLE.split(template)
    if any(brace in text for text in pieces[::2] for brace in "{}"):
        raise ValueError(f"'{template}' has a brace that is not part of a hole: write it as a literal")
    return _joined(Hole(piece) if index % 2 else piece for index, piece in enumerate(pieces))


def _joined(parts: Iterable[str | Hole]) -> Sql:
    """Join neighbouring texts, so that SQL of the same text is equal."""
    joined: list[str | Hole] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if text := "".join(texts):
            joined.append(text)
        joined.append(part)
        texts = []
    if text := "".join(texts):
        joined.append(text)
    return Sql(tuple(joined))


def ident(name: str) -> Sql:
    """Return a name, always quoted: `current_date` without backticks is a function."""
    return Sql((_backticked(name),))


def literal(text: str) -> Sql:
    r"""Return a text.  Spark reads `\uXXXX` in a literal as that character."""
    escaped = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return Sql((f"'{escaped}'",))


def binary(octets: bytes) -> Sql:
    """Return bytes."""
    return Sql((f"X'{octets.hex().upper()}'",))


def written(text: str) -> Sql:
    """Return an expression that a person wrote, in brackets.

    A comment at its end cannot extend beyond it.
    """
    return Sql((f"({text}\n)",))


def word(name: str) -> Sql:
    """Return a keyword or the name of a type.  Raises `ValueError` for anything else."""
    if _WORD.fullmatch(name) is None:
        raise ValueError(f"'{name}' is not a word of SQL")
    return Sql((name,))


def join(separator: str, expressions: Iterable[Sql]) -> Sql:
    """Return expressions with a separator between them."""
    parts = [part for each in expressions for part in (separator, *each.parts)]
    return _joined(parts[1:])


def struct(fields: Iterable[tuple[str, Sql]]) -> Sql:
    """Return a struct of named expressions."""
    pairs = (sql("{name}, {c}", name=literal(name), c=expression) for name, expression in fields)
    return sql("named_struct({pairs})", pairs=join(", ", pairs))


def any_true(conditions: Iterable[Sql]) -> Sql:
    """Return a condition that is true if any of these is, and never null.

    `greatest` evaluates all of them unconditionally, so that Spark shares their common parts.  Under `or` it
    would compute them again.  It is flat, because a sum of 1,500 terms overflows the parser's stack.
    """
    alternatives = list(conditions)
    if not alternatives:
        return sql("false")
    if len(alternatives) == 1:
        return sql("coalesce({c}, false)", c=alternatives[0])
    return sql("coalesce(greatest({all}), false)", all=join(", ", alternatives))


def quote(name: str) -> str:
    """Return a name as people write it in DDL: quoted only if Spark's lexer needs it."""
    return name if _PLAIN_NAME.fullmatch(name) else _backticked(name)


def _backticked(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
