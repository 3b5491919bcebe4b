"""The queries of a comparison, as text, for each database."""

import attrs
import pytest

from ingest.sources.databases import DATABASES
from ingest.sources.forms import Form
from ingest.sources.layout import ComparedColumn, Layout
from ingest.sources.queries import Queries, SourceTable
from ingest.sql.template import sql
from ingest.verify.chunks import MOST, Ranges, chunk_count
from ingest.verify.repair import MOST_CHARS, conditions, ranges_of

KEY_TYPES = {"postgres": "bigint", "mysql": "bigint(20)", "sqlserver": "bigint", "oracle": "NUMBER(18,0)"}
TEXT_TYPES = {"postgres": "text", "mysql": "varchar(20)", "sqlserver": "varchar", "oracle": "VARCHAR2"}


def queries(database: str, key_form: str = "integer") -> Queries:
    """Return the queries of a table with a key and a text."""
    key_type = (KEY_TYPES if key_form == "integer" else TEXT_TYPES)[database]
    key = ComparedColumn("id", "id", key_type, Form(key_form))
    value = ComparedColumn("name", "Na me", TEXT_TYPES[database], Form("text"))
    table = SourceTable(("own", "t"), {"id": key_type, "Na me": TEXT_TYPES[database]})
    dialect = DATABASES[database]
    return Queries(Layout((key,), (value,), {}), dialect, table, dialect.md5)


@pytest.mark.parametrize("database", DATABASES)
def test_each_database_has_whole_queries(database: str) -> None:
    """No hole is left open, and every name is quoted."""
    narrow = attrs.evolve(queries(database).layout, where="x > 1", sample_parts=100)
    whole = attrs.evolve(queries(database), layout=narrow)
    name = str(DATABASES[database].ident("Na me"))
    for query in (
        whole.chunk_query(sql("id >= 1")),
        whole.bucket_query(8),
        whole.rows_query(buckets=8),
        whole.rows_query(with_columns=True),
    ):
        assert name in str(query)
        assert "(x > 1)" in str(query)
    assert str(whole.count_query()).startswith("select count(*) from")


def test_the_query_of_a_chunk_sums_the_checksums_of_whole_rows() -> None:
    """A text counts its octets, so that two columns never read as one."""
    assert str(queries("postgres").chunk_query(sql('"id" < 5'))) == (
        "select count(*), sum(q.n) from (select ('x' || left(md5(convert_to("
        """concat("id"::text, ',', octet_length("Na me")::text || ':' || "Na me"), 'UTF8')), 14))"""
        "::bit(56)::bigint as n "
        """from "own"."t" where ("id" < 5)) q"""
    )


def test_the_checksum_of_postgresql_joins_the_hash_of_each_column() -> None:
    """With a seed of the column's number; a number is hashed as one, a text by its octets."""
    texts = queries("postgres")
    hashing = texts.database.hashing
    assert hashing is not None
    hashed = attrs.evolve(texts, checksum=hashing, layout=texts.layout.with_checksum(hashing))
    assert str(hashed.number()) == (
        'hashtextextended((coalesce(case when "id" between -2147483648 and 2147483647 '
        'then hashint8extended("id", hashint4extended(0, 0)) '
        'else hashint8extended("id", hashint4extended(0, 0)) '
        '# hashint4extended(("id" >> 32)::int, ~hashint4extended(0, 0)) end, 0) '
        '# coalesce(hashtextextended("Na me" collate "C", hashint4extended(1, 0)), 0))::text collate "C", 0)'
    )
    row = "ingest_row_postgres_hash('hf', `id`, `name`)"
    assert str(hashed.layout.lake_row(hashed.layout.checksum)) == row


def test_a_number_is_cut_by_ranges_and_a_text_by_a_hash() -> None:
    """The order of texts depends on the source's collation."""
    assert queries("postgres").layout.has_ranges
    assert not queries("postgres", "text").layout.has_ranges
    assert "md5(convert_to(" in str(queries("postgres", "text").bucket(16))


def test_a_text_key_is_selected_by_its_octets() -> None:
    """Its collation may make two texts equal, which would be read once for each of them."""
    assert '"id" collate "C" as b' in str(queries("postgres", "text").rows_query())
    assert "collate" not in str(queries("postgres").rows_query())


def test_counts_can_carry_the_versions_of_rows() -> None:
    """The sum changes with every row that is written."""
    assert str(queries("postgres").count_query(with_versions=True)) == (
        'select count(*), sum(xmin::text::bigint) from "own"."t" where 1 = 1'
    )


def test_ranges_cover_every_number_once() -> None:
    """The first and the last one are open; a bound is in the upper range."""
    ranges = Ranges((-5, 10))
    texts = [str(ranges.condition(chunk, sql("k"))) for chunk in range(ranges.count)]
    assert texts == ["k < -5", "k >= -5 and k < 10", "k >= 10"]
    assert str(Ranges(()).condition(0, sql("k"))) == "1 = 1"
    assert str(ranges.chunk_of(sql("k"))) == "ingest_range(cast(k as bigint), array(-5L, 10L))"
    assert str(Ranges(()).chunk_of(sql("k"))) == "0"


def test_chunks_follow_the_rows_up_to_a_bound() -> None:
    """A table without rows has a chunk, too."""
    assert [chunk_count(rows, 100) for rows in (0, 1, 100, 101, 10**9)] == [1, 1, 1, 2, MOST]


def test_a_repair_covers_exactly_the_keys() -> None:
    """Whole numbers as ranges, texts as literals, each condition short enough for a signal."""
    assert ranges_of([1, 2, 3, 7, 9, 10]) == [(1, 3), (7, 7), (9, 10)]
    assert conditions(queries("postgres"), ["10", "2", "1", "9"]) == [
        '"id" BETWEEN 1 AND 2 OR "id" BETWEEN 9 AND 10'
    ]
    assert conditions(queries("postgres", "text"), ["it's", "a"]) == ["\"id\" in ('a', 'it''s')"]
    filters = conditions(queries("postgres"), [str(n) for n in range(0, 1000, 2)])
    assert len(filters) > 1
    assert max(map(len, filters)) <= MOST_CHARS + 20
    assert " OR ".join(filters).count('"id"') == 500
