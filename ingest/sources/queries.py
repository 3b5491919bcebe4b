"""The queries over a source's table in its SQL: texts and checksums as the layout has them in the lake."""

from collections.abc import Mapping

import attrs

from ingest.sources.database import Checksum, Database, HashChecksum, both
from ingest.sources.forms import BYTES
from ingest.sources.layout import SAMPLE_PARTS, ComparedColumn, Layout
from ingest.sql.template import Sql, join, sql


@attrs.frozen
class SourceTable:
    """A table of a source: the parts of its name, and its columns with their types."""

    parts: tuple[str, ...]
    columns: Mapping[str, str]


@attrs.frozen
class Queries:
    """The queries over one table of a database."""

    layout: Layout
    database: Database
    table: SourceTable
    checksum: Checksum | HashChecksum

    def table_name(self) -> Sql:
        """Return the table's name in the source's SQL."""
        return join(".", map(self.database.ident, self.table.parts))

    def condition(self, *conditions: Sql | None) -> Sql:
        """Return the condition of the rows to compare."""
        sampled = None
        if self.layout.sample_parts < SAMPLE_PARTS:
            sampled = sql("{b} < {parts}", b=self.bucket(SAMPLE_PARTS), parts=self.layout.sample_parts)
        given = [Sql((text,)) for text in (self.layout.source_where, self.layout.where) if text]
        return both(*given, sampled, *conditions)

    def row(self) -> Sql:
        """Return a row's text."""
        columns = (*self.layout.keys, *self.layout.values())
        return self.database.concat([column.in_source_row(self.database) for column in columns])

    def number(self) -> Sql:
        """Return a row's checksum."""
        match self.checksum:
            case Checksum(source=template):
                return template.of(c=self.row())
            case HashChecksum() as checksum:
                columns = enumerate((*self.layout.keys, *self.layout.values()))
                hashes = [self._hash(checksum, number, column) for number, column in columns]
                return checksum.row.of(c=join(checksum.joined, hashes))

    def _hash(self, checksum: HashChecksum, number: int, column: ComparedColumn) -> Sql:
        text = column.in_source(self.database)
        if column.form.name == BYTES:
            text = self.database.part(column.form, text)
        value = self.database.ident(column.source)
        return checksum.hash_of(column.form, column.source_type, number, value, text)

    def bucket(self, buckets: int) -> Sql:
        """Return the bucket of a row, by its first key column."""
        digest = self.database.digest.of(c=self.layout.keys[0].in_source(self.database))
        return self.database.bucket.of(h=digest, n=buckets)

    def range_column(self) -> Sql:
        """Return the first key column itself."""
        return self.database.ident(self.layout.keys[0].source)

    def count_query(self, *, with_versions: bool = False) -> Sql:
        """Return the query that counts the source's rows, and sums their versions if requested."""
        return sql(
            "select count(*){versions} from {table} where {where}",
            versions=sql(", sum({v})", v=self.database.version) if with_versions else sql(""),
            table=self.table_name(), where=self.condition(),
        )  # fmt: skip

    def chunk_query(self, *conditions: Sql) -> Sql:
        """Return the query of one chunk: rows, and the sum of their checksums."""
        return sql(
            "select count(*), sum(q.n) from (select {number} as n from {table} where {where}) q",
            number=self.number(), table=self.table_name(), where=self.condition(*conditions),
        )  # fmt: skip

    def bucket_query(self, buckets: int) -> Sql:
        """Return the query of all chunks by hash: bucket, rows, and the sum of their checksums."""
        return sql(
            "select q.b, count(*), sum(q.n) from (select {bucket} as b, {number} as n from {table} "
            "where {where}) q group by q.b",
            bucket=self.bucket(buckets),
            number=self.number(),
            table=self.table_name(),
            where=self.condition(),
        )

    def rows_query(self, *, with_columns: bool = False, buckets: int = 0) -> Sql:
        """Return the query of rows: their keys, and their digest or every column.

        `b` is the first key column for predicates, `h` the bucket, `v` the row's version.
        """
        database, layout = self.database, self.layout
        lead = (
            self.range_column()
            if layout.has_ranges
            else database.exact.of(c=layout.keys[0].in_source(database))
        )
        columns = [lead.alias_plain("b"), database.version.alias_plain("v")]
        columns += [key.in_source(database).alias_plain(f"k{i}") for i, key in enumerate(layout.keys)]
        if buckets:
            columns.append(self.bucket(buckets).alias_plain("h"))
        if with_columns:
            columns += [c.in_source(database).alias_plain(f"c{i}") for i, c in enumerate(layout.columns)]
        else:
            digest = self.row() if layout.mode == "full" else self.number()
            columns.append(digest.alias_plain("d"))
        return sql(
            "select {columns} from {table} where {where}",
            columns=join(", ", columns), table=self.table_name(), where=self.condition(),
        )  # fmt: skip
