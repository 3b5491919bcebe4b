"""Types of columns, with SQL of some of their values: ordinary ones, the ends, and what is empty."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

Values = Callable[[random.Random], str]
TEXTS: Final = (
    "", " ", "a", "Ölle", "🙂", "it's", "x\ty", "null", "\\", '"', "0", "long " * 6, " lead", "trail ",
    "line1\nline2",
)  # fmt: skip
JSON: Final = ('{"a": 1}', "[]", "null", '"s"', '{"a": {"é": [1, 2.50, null]}}')


@attrs.frozen
class Kinds:
    """The types of one database: of columns, of keys, and those that a type may become later."""

    columns: Mapping[str, Values]
    keys: Mapping[str, Values]
    wider: Mapping[str, Sequence[str]]
    large: frozenset[str] = frozenset()
    """Types whose values an event may leave out."""
    null_values: frozenset[str] = frozenset()
    """Types with values that arrive as null."""


def any_of(*values: str) -> Values:
    """Choose one of some expressions."""
    return lambda chance: chance.choice(values)


def texts(*values: str, most: int = 60, backslashes: bool = False) -> Values:
    """Choose one of some texts, as literals."""
    return any_of(*(quoted(value[:most], backslashes=backslashes) for value in values))


def quoted(text: str, *, backslashes: bool = False) -> str:
    """Write a text as a literal."""
    escaped = text.replace("\\", "\\\\") if backslashes else text
    return "'" + escaped.replace("'", "''") + "'"


def whole(low: int, high: int) -> Values:
    """Choose a number near zero, or one of the ends."""
    return lambda chance: str(chance.choice((low, high, 0, chance.randint(max(low, -99), min(high, 99)))))


def decimal(digits: int, scale: int) -> Values:
    """Choose any number of a decimal."""

    def choose(chance: random.Random) -> str:
        number = chance.randint(1 - 10**digits, 10**digits - 1)
        sign, text = "-" if number < 0 else "", f"{abs(number):0{scale + 1}}"
        return f"{sign}{text[: len(text) - scale]}.{text[len(text) - scale :]}" if scale else f"{sign}{text}"

    return choose


def octets(template: str, *sizes: int) -> Values:
    """Choose any octets, in hexadecimal."""
    return lambda chance: template % chance.randbytes(chance.choice(sizes)).hex()


def few(template: str, low: int = 0, high: int = 25) -> Values:
    """Choose a number, so that a key comes again."""
    return lambda chance: template % chance.randint(low, high)


def sometimes(often: Values, seldom: Values) -> Values:
    """Choose a value of the second kind three times in ten."""
    return lambda chance: (seldom if chance.random() < 0.3 else often)(chance)


def large(template: str) -> Values:
    """Choose a text that PostgreSQL stores apart, or a short one."""
    return lambda chance: template % f"repeat(md5('{chance.random()}'), {chance.choice((1, 60, 200))})"


_DAYS: Final = few("'2024-02-%02d'", 1, 29)
POSTGRES: Final = Kinds(
    columns={
        "smallint": whole(-32768, 32767),
        "integer": whole(-(2**31), 2**31 - 1),
        "bigint": whole(-(2**63), 2**63 - 1),
        "real": any_of("'0'", "'-0'", "'1.5'", "'NaN'", "'Infinity'", "'3.4028235e+38'", "'1e-45'"),
        "double precision": any_of("'-0'", "'0.1'", "'NaN'", "'-Infinity'", "'1.7976931348623157e308'"),
        "numeric(12,2)": decimal(12, 2),
        "numeric(14,2)": decimal(14, 2),
        "numeric(38,10)": decimal(38, 10),
        "numeric(45,3)": decimal(45, 3),
        "numeric": any_of("0", "'NaN'", "1e20", "-1.50", "0.000001", "1e-30"),
        "boolean": any_of("true", "false"),
        "character(5)": texts("", "a", "abc", "中文", "ab cd"),
        "character varying(30)": texts(*TEXTS, most=30),
        "text": sometimes(texts(*TEXTS), large("%s")),
        "bytea": sometimes(octets("'\\x%s'", 0, 1, 30), large("decode(%s, 'hex')")),
        "date": texts("2024-02-29", "0001-01-01", "9999-12-31", "infinity", "-infinity"),
        "time(3) without time zone": texts("00:00", "24:00:00", "23:59:59.999", "12:34:56.7"),
        "time without time zone": texts("00:00", "24:00:00", "23:59:59.999999", "12:34:56.7"),
        "time with time zone": texts("00:00+00", "23:59:59.999999-11:30", "12:00+05:45"),
        "timestamp without time zone": texts(
            "2024-03-31 02:30:00.000001", "0001-01-01", "9999-12-31 23:59:59.999999", "-infinity"
        ),
        "timestamp(3) without time zone": texts("2024-03-31 02:30:00.001", "1969-12-31 23:59:59.999"),
        "timestamp with time zone": texts(
            "2024-03-31 02:30:00.000001+02", "0001-01-02 00:00+00", "1900-01-01 00:00:00+05:30", "infinity"
        ),
        "interval": texts("P1Y2M3DT4H5M6.78S", "PT0S", "P-1Y-2M3DT-4H"),
        "jsonb": sometimes(texts(*JSON), large("to_jsonb(%s)")),
        "json": texts(*JSON),
        "uuid": few("md5('%d')::uuid"),
        "text[]": sometimes(any_of("'{}'", '\'{a,NULL,"c,d",""}\''), large("array[%s, null, '']")),
        "integer[]": texts("{}", "{1,NULL,-3}"),
        "money": any_of("'0'", "'-12.34'", "'1234567.89'"),
        "bit(8)": few("%d::bit(8)", 0, 255),
        "bit varying(12)": texts("", "1", "101", "111111111111"),
        "inet": texts("192.168.0.1/24", "1.2.3.4", "::1", "fe80::1/64"),
        "xml": texts("<a>x</a>", "<b/>"),
        "oid": any_of("0", "4294967295"),
    },
    keys={
        "integer": few("%d", -3),
        "bigint": sometimes(few("%d"), any_of(f"{-(2**63)}", f"{2**63 - 1}")),
        "smallint": few("%d", -3),
        "text": texts(*TEXTS),
        "character varying(30)": texts(*TEXTS, most=30),
        "character(5)": texts("", "a", "abc", "中文", "x"),
        "uuid": few("md5('%d')::uuid"),
        "numeric": few("%d / 2.0 * 1.00"),
        "numeric(12,2)": few("%d.50"),
        "date": _DAYS,
        "timestamp without time zone": few("'2024-02-%02d 01:02:03.000001'", 1, 29),
        "timestamp(3) without time zone": few("'1900-02-%02d 01:02:03.001'", 1, 28),
        "timestamp with time zone": sometimes(
            few("'2024-02-%02d 01:02:03.7+02'", 1, 29), texts("infinity", "-infinity", "2024-02-02 00:00+00")
        ),
        "time without time zone": few("'%02d:00:00'", 0, 23),
        "boolean": any_of("true", "false"),
        "bytea": few("'\\x%02x00'"),
    },
    wider={
        "smallint": ("integer", "bigint"),
        "integer": ("bigint",),
        "real": ("double precision",),
        "numeric(12,2)": ("numeric(38,10)", "numeric(14,2)"),
        "character varying(30)": ("text",),
        "timestamp(3) without time zone": ("timestamp without time zone",),
        "json": ("text",),
        "uuid": ("text",),
    },
    large=frozenset({"text", "bytea", "jsonb", "text[]"}),
    null_values=frozenset({"numeric"}),
)
_MARIA_TEXTS: Final = texts(*TEXTS, most=30, backslashes=True)
MARIADB: Final = Kinds(
    columns={
        "tinyint": whole(-128, 127),
        "boolean": any_of("true", "false"),
        "smallint unsigned": whole(0, 65535),
        "int": whole(-(2**31), 2**31 - 1),
        "int unsigned": whole(0, 2**32 - 1),
        "bigint": whole(-(2**63), 2**63 - 1),
        "bigint unsigned": whole(0, 2**64 - 1),
        "decimal(12,2)": decimal(12, 2),
        "decimal(9,0)": decimal(9, 0),
        "decimal(38,10)": decimal(38, 10),
        "decimal(45,3)": decimal(45, 3),
        "double": any_of("0", "1.5", "-2.25", "1.7976931348623157e308", "0.1"),
        "char(5)": texts("", "a", "abc", "中文", "ab cd"),
        "varchar(30)": _MARIA_TEXTS,
        "text": _MARIA_TEXTS,
        "longtext": any_of("repeat('é', 3000)", "''"),
        "varbinary(20)": octets("x'%s'", 0, 1, 7),
        "binary(4)": any_of("x'00000000'", "x'01020300'", "x'00010203'"),
        "blob": octets("x'%s'", 0, 1, 30),
        "date": texts("2024-02-29", "1000-01-01", "9999-12-31", "0000-00-00"),
        "time": texts("00:00:00", "23:59:59", "-838:59:59", "838:59:59"),
        "time(6)": texts("00:00:00", "23:59:59.999999", "-01:00:00.5"),
        "datetime": texts("2024-03-31 02:30:00", "1000-01-01 00:00:00", "0000-00-00 00:00:00"),
        "datetime(3)": texts("2024-03-31 02:30:00.001", "1969-12-31 23:59:59.999"),
        "datetime(6)": texts("2024-03-31 02:30:00.000001", "1969-12-31 23:59:59.999999"),
        "timestamp(6)": texts("2024-03-31 02:30:00.000001", "1970-01-02 00:00:00"),
        "timestamp": texts("2024-03-31 02:30:00", "2038-01-18 00:00:00"),
        "bit(1)": any_of("b'0'", "b'1'"),
        "bit(8)": few("%d", 0, 255),
        "enum('sad','ok','h,y')": texts("sad", "ok", "h,y"),
        "json": texts(*JSON),
        "year": any_of("1901", "2155", "2024"),
        "uuid": few("'6f5a1a0e-2b2f-4bd5-8b1a-0123456789%02x'", 1, 255),
    },
    keys={
        "int": few("%d", -3),
        "bigint": sometimes(few("%d"), any_of(f"{-(2**63)}")),
        "bigint unsigned": sometimes(few("%d"), any_of(f"{2**64 - 1}")),
        "varchar(30)": _MARIA_TEXTS,
        "char(5)": texts("", "a", "abc", "中文", "x"),
        "varbinary(20)": few("x'%02x00'"),
        "decimal(9,0)": few("%d", -3),
        "decimal(12,2)": few("%d.50"),
        "decimal(45,3)": few("%d.500"),
        "date": _DAYS,
        "datetime(6)": few("'2024-02-%02d 01:02:03.000001'", 1, 29),
        "timestamp(3)": sometimes(
            few("'2024-02-%02d 01:02:03.000'", 1, 29), few("'2024-02-%02d 01:02:03.7'", 1, 29)
        ),
        "time": few("'%02d:00:00'", 0, 23),
        "boolean": any_of("true", "false"),
        "enum('sad','ok','h,y')": texts("sad", "ok", "h,y"),
        "uuid": few("'6f5a1a0e-2b2f-4bd5-8b1a-0123456789%02x'", 1, 25),
    },
    wider={
        "tinyint": ("int",),
        "int": ("bigint",),
        "smallint unsigned": ("int unsigned",),
        "decimal(12,2)": ("decimal(38,10)",),
        "varchar(30)": ("text",),
        "datetime(3)": ("datetime(6)",),
    },
)
