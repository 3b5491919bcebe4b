"""The SQL of `ingest verify` for MySQL, run by a real MariaDB: each value has its canonical text."""

import hashlib
import shutil
from collections.abc import Iterator

import pytest

from ingest.sources.forms import BYTES, TEXTS, Form
from ingest.sources.layout import ComparedColumn, Layout
from ingest.sources.mysql import MYSQL
from ingest.sources.queries import Queries, SourceTable
from tests.live.mariadb import MISSING, MariaDb, serve

pytestmark = pytest.mark.live

COLUMNS = (
    # type, value, form, canonical text as Spark writes it
    ("bigint(20)", "-9223372036854775808", Form("integer"), "-9223372036854775808"),
    ("bigint(20) unsigned", "18446744073709551615", Form("decimal", 0), "18446744073709551615"),
    ("int(10) unsigned zerofill", "42", Form("integer"), "42"),
    ("bigint(20) unsigned zerofill", "7", Form("decimal", 0), "7"),
    ("decimal(12,2) unsigned zerofill", "1.5", Form("decimal", 2), "1.50"),
    ("tinyint(1)", "1", Form("boolean"), "true"),
    ("bit(8)", "b'101'", Form("bits"), "5"),
    ("bit(64)", "0xffffffffffffffff", Form("bits"), "-1"),
    ("bit(64)", "0", Form("bits"), "0"),
    ("bit(1)", "b'0'", Form("boolean"), "false"),
    ("decimal(12,2)", "-1234.50", Form("decimal", 2), "-1234.50"),
    ("decimal(12,2)", "-1234.50", Form("decimal", 4), "-1234.5000"),
    ("decimal(38,10)", "0.0000000001", Form("small_decimal", 10), "0.0000000001"),
    ("varchar(20)", "'Ab '", Form("text"), "Ab "),
    ("char(5)", "'ab'", Form("text"), "ab"),
    ("varchar(20)", "'it''s \\\\ 🙂'", Form("text"), "it's \\ 🙂"),
    ("longtext", "''", Form("text"), ""),
    ("varchar(20)", "null", Form("text"), None),
    ("enum('a','b')", "'b'", Form("text"), "b"),
    ("varbinary(20)", "x'00ff'", Form("binary"), "00ff"),
    ("date", "'2024-02-29'", Form("date"), "2024-02-29"),
    ("date", "'0000-00-00'", Form("date"), None),
    ("datetime(6)", "'2024-02-29 12:34:56.789010'", Form("timestamp"), "2024-02-29 12:34:56.78901"),
    ("datetime(6)", "'2024-02-29 12:34:56.789999'", Form("timestamp3"), "2024-02-29 12:34:56.789"),
    ("datetime", "'2024-02-29 00:00:00'", Form("timestamp"), "2024-02-29 00:00:00"),
    ("timestamp(3)", "'2024-02-29 12:34:56.700'", Form("instant"), "2024-02-29 12:34:56.7"),
    ("timestamp(3)", "'2024-02-29 12:34:56.700'", Form("instant_text"), "2024-02-29 12:34:56.7"),
    ("time(6)", "'12:34:56.789'", Form("clock6"), "12:34:56.789000"),
    ("time(6)", "'-838:59:58.5'", Form("clock6"), "-838:59:58.500000"),
    ("time(3)", "'12:34:56.789'", Form("clock_micros"), "45296789000"),
    ("time(6)", "'-838:59:58.5'", Form("clock_micros"), "-3020398500000"),
    ("time(6)", "'-00:00:00.5'", Form("clock_micros"), "-500000"),
    ("uuid", "'6F5A1A0E-2B2F-4BD5-8B1A-0123456789AB'", Form("text"), "6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab"),
    ("inet6", "'::FFFF:192.168.0.1'", Form("text"), "::ffff:192.168.0.1"),
    ("json", """'{"ü": 1.0}'""", Form("json"), '{"ü": 1.0}'),
)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    """Serve a database with one row of every type."""
    if shutil.which("mariadbd") is None:
        pytest.skip(MISSING)
    columns = ", ".join(f"`c {n}` {column_type} null" for n, (column_type, *_) in enumerate(COLUMNS))
    values = ", ".join(value for _, value, *_ in COLUMNS)
    with serve() as server:
        server.rows(
            "set time_zone = '+00:00'; set sql_mode = ''; create database inv default charset utf8mb4; "
            f"create table inv.t (id int primary key, {columns}); insert into inv.t values (7, {values}); "
            "create table inv.k (id varchar(9) collate utf8mb4_general_ci primary key, v int); "
            "insert into inv.k values ('a', 1), ('B', 2)"
        )
        yield server


def queries(database: MariaDb, table: str, **forms: Form) -> Queries:
    """Return the queries of a table by the columns that the database names itself."""
    query = MYSQL.columns.of(schema=MYSQL.literal("inv"), table=MYSQL.literal(table))
    types = {str(name): str(column_type) for name, column_type in database.rows(str(query))}
    key, *columns = (ComparedColumn(name, name, types[name], forms[name]) for name in types)
    source = SourceTable(("inv", table), types)
    return Queries(Layout((key,), tuple(columns), {}), MYSQL, source, MYSQL.md5)


def with_setup(query: object) -> str:
    """Return a query behind the statements of a connection."""
    return "; ".join(map(str, (*MYSQL.setup, query)))


def test_each_type_has_its_canonical_text(mariadb: MariaDb) -> None:
    """The text that Spark makes of the stored value."""
    forms = {f"c {n}": form for n, (_, _, form, _) in enumerate(COLUMNS)}
    query = queries(mariadb, "t", id=Form("integer"), **forms).rows_query(with_columns=True)
    ((_, _, key, *texts),) = mariadb.rows(with_setup(query))
    assert key == "7"
    assert texts == ["NULL" if text is None else text for *_, text in COLUMNS]


def test_the_checksum_of_a_row_is_that_of_its_text(mariadb: MariaDb) -> None:
    """The digest of UTF-8, its first 56 bits as a number, summed."""
    whole = queries(
        mariadb, "t", id=Form("integer"), **{f"c {n}": form for n, (_, _, form, _) in enumerate(COLUMNS)}
    )
    parts = ["7"]
    for _, _, form, text in COLUMNS:
        before = f"{len((text or '').encode())}:" if form.name in TEXTS else "x" if form.name == BYTES else ""
        parts.append("" if text is None else f"{before}{text}")
    digest = hashlib.md5(",".join(parts).encode(), usedforsecurity=False).hexdigest()
    assert mariadb.rows(with_setup(whole.chunk_query())) == [["1", str(int(digest[:14], 16))]]


def test_texts_fall_into_buckets(mariadb: MariaDb) -> None:
    """Whatever the collation says of their order."""
    keyed = queries(mariadb, "k", id=Form("text"), v=Form("integer"))
    buckets = {
        int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:7], 16) % 64 for text in ("a", "B")
    }
    rows = mariadb.rows(with_setup(keyed.bucket_query(64)))
    assert {int(bucket) for bucket, *_ in rows} == buckets
