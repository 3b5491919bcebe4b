"""A MongoDB collection as a source: read by its driver, compared in Spark by the functions of the table.

MongoDB cannot compute the checksums that Spark computes, so each comparison reads the whole collection.
Spark keeps the key and the checksum of each document.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import attrs
import pymongo
from bson import codec_options, json_util
from pymongo import errors as mongo_errors
from pyspark.sql import DataFrame, SparkSession

from ingest.compile.document import DOCUMENT
from ingest.compile.table import CompiledTable
from ingest.errors import SettingsError, SourceRefusedError, SourceUnreachableError
from ingest.settings import SourceSettings
from ingest.sources.forms import Form, form_of
from ingest.sources.layout import SAMPLE_PARTS, ComparedColumn, Layout, Mode
from ingest.sources.origin import Origin
from ingest.sources.pairs import check_only
from ingest.sql.template import ident, sql
from ingest.sql.types import Simple, SparkType
from ingest.typemap.mapped import Mapped
from ingest.verify.looks import KEYS_PER_QUERY, Opened, Part, leads_of

if TYPE_CHECKING:
    from pymongo.collection import Collection

TITLE: Final = "MongoDB"
_BATCH_CHARS: Final = 16 << 20
"""Characters of documents that go to Spark at a time."""
_BATCHES: Final = 32
"""Batches that become one: Spark's plan of a union grows with them."""
_SELECT_S: Final = 30
_TEXT: Final = "a text out of a document has the spelling of the event that wrote it"
_MANY_CHARS: Final = 300
_Document = Mapping[str, Any]


@contextmanager
def _source_errors(name: str) -> Iterator[None]:
    """Raise `SourceUnreachableError` or `SourceRefusedError` for the driver's exceptions."""
    try:
        yield
    except (
        mongo_errors.ConnectionFailure,
        mongo_errors.ExecutionTimeout,
        mongo_errors.CursorNotFound,
    ) as error:
        raise SourceUnreachableError(name, str(error)[:_MANY_CHARS]) from error
    except mongo_errors.PyMongoError as error:
        todo = "Check the rights of the user, and [sources]"
        raise SourceRefusedError(name, str(error)[:_MANY_CHARS], todo) from error


@attrs.frozen
class Documents:
    """A collection of a source, over an open connection."""

    name: str
    settings: SourceSettings
    collection: "Collection[dict[str, Any]]"

    @property
    def title(self) -> str:
        """The name of the database."""
        return TITLE

    def is_replica(self) -> bool:
        """Return whether another server than the primary may answer."""
        with _source_errors(self.name):
            client = self.collection.database.client
            return client.read_preference != pymongo.ReadPreference.PRIMARY or not client.is_primary

    def position(self) -> str | None:
        """Return None: the connector's position does not show."""
        return None

    def shows_deliveries(self) -> bool:
        """Return False: the server does not show how far its connector is."""
        return False

    def delivery(self, position: str) -> str | None:
        """Raise `NotImplementedError`: no delivery shows."""
        raise NotImplementedError(position)

    def check(self, origin: Origin) -> None:
        """Check that the topic's collection exists.  Raises `SourceRefusedError` if it is missing."""
        database = self.collection.database
        with _source_errors(self.name):
            names = database.list_collection_names(filter={"name": self.collection.name})
        if self.collection.name not in names:
            problem = f"does not have the collection {origin}, or does not let its user see it"
            raise SourceRefusedError(self.name, problem, "Check the collection, and the rights of the user")

    def find(self, keys: Sequence[str] | None, *, keys_only: bool) -> Iterator[_Document]:
        """Read all documents, or only those with the given keys in Extended JSON."""
        options = {"projection": {"_id": 1} if keys_only else None, "batch_size": self.settings.chunk_rows}
        if keys is None:
            return iter(self.collection.find({}, **options))
        values = [json_util.loads(key, json_options=_json_options()) for key in keys]
        filters = [
            {"_id": {"$in": values[i : i + KEYS_PER_QUERY]}} for i in range(0, len(values), KEYS_PER_QUERY)
        ]
        # The collation of the collection may make two texts equal.
        found = (
            self.collection.find(chosen, collation={"locale": "simple"}, **options) for chosen in filters
        )
        return chain.from_iterable(found)


def _json_options() -> "json_util.JSONOptions":
    """Return the spelling that keeps the type of each value."""
    return json_util.JSONOptions(
        json_mode=json_util.JSONMode.CANONICAL,
        datetime_conversion=codec_options.DatetimeConversion.DATETIME_MS,
    )


@attrs.frozen
class DocumentRows:
    """The rows of a collection."""

    spark: SparkSession
    documents: Documents
    layout: Layout
    shape: tuple[str, ...]
    """The columns of the table, in Spark's SQL over the texts `id` and `doc`."""

    def errors(self) -> AbstractContextManager[None]:
        """Translate the driver's exceptions into `IngestError`s."""
        return _source_errors(self.documents.name)

    def count(self, *, with_versions: bool = False) -> tuple[int, ...]:
        """Return the number of rows. Documents have no version."""
        del with_versions
        if self.layout.where or self.layout.sample_parts < SAMPLE_PARTS:
            return (self.of_part(Part()).count(),)
        with self.errors():
            return (self.documents.collection.count_documents({}),)

    def of_part(self, part: Part) -> DataFrame:
        """Return all rows, with their checksum."""
        del part
        return self._rows(None, with_columns=False)

    def of_keys(self, rows: DataFrame, *, with_columns: bool = False) -> DataFrame:
        """Return at least the rows that have one of the keys."""
        return self._rows(leads_of(rows), with_columns=with_columns)

    def _rows(self, keys: Sequence[str] | None, *, with_columns: bool) -> DataFrame:
        keys_only = self.layout.mode == "keys" and not with_columns and not self.layout.where
        frames = [self._frame([], with_columns=with_columns)]
        with self.errors():
            found = self.documents.find(keys, keys_only=keys_only)
            for batch in _batches(found, self.documents.settings.chunk_rows):
                frames.append(self._frame(batch, with_columns=with_columns).localCheckpoint())
                if len(frames) == _BATCHES:
                    frames = [_united(frames).localCheckpoint()]
                time.sleep(self.documents.settings.pause_s)
        return _united(frames)

    def _frame(self, batch: Sequence[tuple[str, str]], *, with_columns: bool) -> DataFrame:
        texts = self.spark.createDataFrame(batch, "id string, doc string", verifySchema=False)
        shaped = texts.selectExpr(*self.shape)
        return self.layout.lake_rows(shaped, with_columns=with_columns, version=sql("0L"))


def _batches(documents: Iterable[_Document], rows: int) -> Iterator[list[tuple[str, str]]]:
    """Yield key and document as Extended JSON, in batches of a bounded size."""
    options, batch, chars = _json_options(), list[tuple[str, str]](), 0
    for document in documents:
        text = json_util.dumps(document, json_options=options)
        batch.append((json_util.dumps(document["_id"], json_options=options), text))
        chars += len(text)
        if chars >= _BATCH_CHARS or len(batch) >= rows:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _united(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionByName, frames)


def document_layout(
    compiled: CompiledTable, stored: Mapping[str, SparkType], mode: Mode, only: Sequence[str]
) -> Layout:
    """Return the columns to compare: the document by value, and columns cut out of it that are not texts."""
    check_only(only, stored)
    (key, _), *_ = compiled.key_columns
    pairs: dict[str, ComparedColumn | str] = {
        DOCUMENT: ComparedColumn(DOCUMENT, DOCUMENT, "document", Form("document"))
    }
    for column in compiled.derived:
        form: Form | str = _TEXT
        if column.spark != Simple("string"):
            form = form_of(Mapped("", "string", column.spark, "string"), column.spark)
        pairs[column.name] = (
            ComparedColumn(column.name, DOCUMENT, "document", form) if isinstance(form, Form) else form
        )
    chosen = {
        name: pairs.get(name, "is not in [document.columns]")
        for name in stored
        if name != key and not name.startswith("_cdc_") and (not only or name in only)
    }
    return Layout(
        (ComparedColumn(key, "_id", "document", Form("document_key")),),
        tuple(pair for pair in chosen.values() if isinstance(pair, ComparedColumn)),
        {name: pair for name, pair in chosen.items() if isinstance(pair, str)},
        mode,
    )


@contextmanager
def open_documents(
    spark: SparkSession,
    name: str,
    settings: SourceSettings,
    *,
    compiled: CompiledTable,
    origin: Origin,
    layout: Layout,
) -> Iterator[Opened]:
    """Open a collection, and close its connection in the end."""
    with _client(name, settings) as client:
        codec: codec_options.CodecOptions[dict[str, Any]] = codec_options.CodecOptions(
            datetime_conversion=codec_options.DatetimeConversion.DATETIME_MS
        )
        collection = client.get_database(origin.database).get_collection(origin.table, codec_options=codec)
        documents = Documents(name, settings, collection)
        documents.check(origin)
        derived = [column.sql.of(doc=ident(DOCUMENT)).alias(column.name) for column in compiled.derived]
        shape = (sql("id").alias(layout.keys[0].name), ident(DOCUMENT), *derived)
        rows = DocumentRows(spark, documents, layout, tuple(map(str, shape)))
        yield Opened(documents, layout, rows)


@contextmanager
def _client(name: str, settings: SourceSettings) -> Iterator["pymongo.MongoClient[dict[str, Any]]"]:
    login: dict[str, Any] = {"username": settings.user} if settings.user else {}
    if settings.password is not None:
        login["password"] = settings.password.reveal()
    try:
        client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
            settings.url, appname="ingest verify", socketTimeoutMS=1000 * settings.statement_timeout_s,
            serverSelectionTimeoutMS=1000 * min(_SELECT_S, settings.statement_timeout_s), **login,
        )  # fmt: skip
    except (ValueError, mongo_errors.PyMongoError) as error:
        raise SettingsError("settings", f"sources.{name}.url", str(error), "Correct the URL") from error
    with client:
        yield client
