"""A registry in a folder, for test fixtures and onboarding without a network.

The folder has `<subject>/v<version>.avsc`, and optionally `fixture.json` with recorded ids and references
(entry `schemas`).  Without that file, ids count from 1 in the order of subject and version.  A recorded
corpus works too: its `registry.json` has subjects, versions, ids and texts.  Entries of both may have the ids
of other framings, as `guid`, `global_id`, `content_id`.

`<subject>/v<version>.json` is an answer of AWS Glue, as `aws glue get-schema-version` writes it.  Nothing
here calls AWS: Glue's API needs signed requests, and a bounded job reads schemas that seldom change.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

from ingest.errors import SchemaError, SchemaNotFoundError, UsageError
from ingest.names import SchemaId, Subject
from ingest.registry.lookup import chosen_ids, texts_in_order
from ingest.registry.subject import CompatibilityResult, FrameId, Newest, Reference, Registered, Schema
from ingest.tables import IdKind

T = TypeVar("T", str, int)

_VERSION_FILE = re.compile(r"^v([1-9][0-9]*)\.(?:avsc|json)$")
_FRAME_IDS: Final[Mapping[str, IdKind]] = {"guid": "GUID", "global_id": "globalId", "content_id": "contentId"}
"""The keys of an entry with the ids of other framings."""


class FolderRegistry:
    """A read-only `Registry` that reads a folder once, on opening."""

    def __init__(self, path: Path) -> None:
        self.url = f"folder {path}"
        if not path.is_dir():
            raise SchemaNotFoundError(self.url, "the folder", "Name an existing folder")
        entries = sorted(_entries(path), key=lambda entry: (entry.subject, entry.version))
        self._versions = {(entry.subject, entry.version): entry for entry in entries}
        self._by_id = {e.id: Schema(e.id, e.schema_text, e.references) for e in entries}
        _check_ids(path, entries)
        self._by_frame_id = {frame_id: self._by_id[e.id] for e in entries for frame_id in e.frame_ids}

    def subjects(self, pattern: str = "*") -> tuple[Subject, ...]:
        """Return the subjects that match a glob."""
        names = {subject for subject, _ in self._versions}
        return tuple(sorted(name for name in names if fnmatchcase(name, pattern)))

    def versions(self, subject: Subject, *, deleted: bool = False) -> tuple[int, ...]:
        """Return a subject's versions.  A folder does not have deleted ones."""
        del deleted
        numbers = tuple(number for name, number in self._versions if name == subject)
        if not numbers:
            raise SchemaNotFoundError(self.url, f"subject {subject}")
        return numbers

    def newest(self, subjects: Collection[Subject]) -> Mapping[Subject, Newest]:
        """Return the newest versions of subjects."""
        newest: dict[Subject, Newest] = {}
        for (subject, _), entry in self._versions.items():  # in the order of versions
            newest[subject] = Newest(entry.id, is_only=subject not in newest)
        return {subject: newest[subject] for subject in subjects if subject in newest}

    def latest(self, subject: Subject) -> Registered:
        """Return a subject's newest version."""
        return self._versions[subject, self.versions(subject)[-1]]

    def version(self, subject: Subject, number: int) -> Registered:
        """Return one version of a subject."""
        if number == -1:
            return self.latest(subject)
        if number not in self.versions(subject):
            raise SchemaNotFoundError(self.url, f"subject {subject} version {number}")
        return self._versions[subject, number]

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of an id."""
        if schema_id not in self._by_id:
            raise SchemaNotFoundError(self.url, f"schema id {schema_id}")
        return self._by_id[schema_id]

    def frame_ids(self, registered: Registered, kinds: frozenset[IdKind]) -> tuple[FrameId, ...]:
        """Return a version's ids of these kinds, as recorded."""
        return chosen_ids(self.url, registered, registered.frame_ids, kinds)

    def by_frame_id(self, frame_id: FrameId) -> Schema:
        """Return the schema that a framing names."""
        if frame_id not in self._by_frame_id:
            raise SchemaNotFoundError(self.url, str(frame_id))
        return self._by_frame_id[frame_id]

    def with_references(self, schema: Schema | Registered) -> tuple[str, ...]:
        """Return the texts of a schema's references and the schema's text, which comes last."""
        return texts_in_order(self, schema)

    def compatibility(self, subject: Subject) -> str:
        """Return NONE, because a folder checks nothing."""
        self.versions(subject)
        return "NONE"

    def compatible(
        self,
        subject: Subject,
        schema_text: str,
        references: tuple[Reference, ...] = (),
        *,
        version: int | None = None,
    ) -> CompatibilityResult:
        """Accept any schema: a folder checks nothing."""
        del schema_text, references
        if version is not None:
            self.version(subject, version)
        return CompatibilityResult(compatible=True)

    def register(
        self, subject: Subject, schema_text: str, references: tuple[Reference, ...] = ()
    ) -> SchemaId:
        """Refuse: a folder is read-only."""
        del schema_text, references
        problem = f"{subject} cannot be registered in {self.url}: a folder registry is read-only"
        raise UsageError(problem, "Name a registry's URL")

    def close(self) -> None:
        """Do nothing: a folder has no connections."""


def _entries(path: Path) -> Iterator[Registered]:
    if (path / "registry.json").is_file():
        yield from _corpus_entries(path / "registry.json")
    elif (path / "fixture.json").is_file():
        yield from _fixture_entries(path)
    else:
        yield from _numbered_entries(path)


def _corpus_entries(file: Path) -> Iterator[Registered]:
    for path_in_file, entry in _items(file, _json(file), "registry.json"):
        text = _field(file, path_in_file, entry, "schema", str)
        yield _registered(file, path_in_file, entry, text)


def _fixture_entries(path: Path) -> Iterator[Registered]:
    file = path / "fixture.json"
    document = _json(file)
    schemas = document.get("schemas") if isinstance(document, Mapping) else None
    for path_in_file, entry in _items(file, schemas, "schemas"):
        subject = _field(file, path_in_file, entry, "subject", str)
        version = _field(file, path_in_file, entry, "version", int)
        text_file = path / subject / f"v{version}.avsc"
        if not text_file.is_file():
            raise SchemaNotFoundError(
                f"folder {path}", f"{subject}/v{version}.avsc, which fixture.json names,"
            )
        yield _registered(file, path_in_file, entry, text_file.read_text(encoding="utf-8"))


def _numbered_entries(path: Path) -> Iterator[Registered]:
    files = ((match, file) for file in path.glob("*/*") if (match := _match(file)))
    numbered = sorted((file.parent.name, int(match[1]), file) for match, file in files)
    for number, (subject, version, file) in enumerate(numbered, start=1):
        if file.suffix == ".json":
            yield _read_glue(file, version)
        else:
            text = file.read_text(encoding="utf-8")
            yield Registered(Subject(subject), version, SchemaId(number), text)


def _check_ids(path: Path, entries: Iterable[Registered]) -> None:
    """Refuse an id that several schemas share, which may happen because Glue's ids are made of UUIDs."""
    texts: dict[SchemaId, str] = {}
    for entry in entries:
        if texts.setdefault(entry.id, entry.schema_text) != entry.schema_text:
            where = f"subject {entry.subject} version {entry.version}"
            raise SchemaError(
                str(path), where, f"has the id {entry.id} of another schema", "Record one of them"
            )


def _match(file: Path) -> re.Match[str] | None:
    return _VERSION_FILE.match(file.name)


def _registered(file: Path, path_in_file: str, entry: Mapping[str, Any], text: str) -> Registered:
    references = _items(file, entry.get("references") or [], f"{path_in_file}.references")
    return Registered(
        Subject(_field(file, path_in_file, entry, "subject", str)),
        _field(file, path_in_file, entry, "version", int),
        SchemaId(_field(file, path_in_file, entry, "id", int)),
        text,
        tuple(_reference(file, where, reference) for where, reference in references),
        tuple(
            FrameId(kind, _field(file, path_in_file, entry, key, str))
            for key, kind in _FRAME_IDS.items()
            if key in entry
        ),
    )


def _reference(file: Path, path_in_file: str, entry: Mapping[str, Any]) -> Reference:
    return Reference(
        _field(file, path_in_file, entry, "name", str),
        Subject(_field(file, path_in_file, entry, "subject", str)),
        _field(file, path_in_file, entry, "version", int),
    )


def _json(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SchemaError(str(file), "JSON", f"cannot be read: {error}") from None


def _items(file: Path, items: object, path_in_file: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise SchemaError(str(file), path_in_file, "is not a list of objects")
    return [(f"{path_in_file}[{index}]", item) for index, item in enumerate(items)]


def _field(file: Path, path_in_file: str, entry: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = entry.get(name)
    if type(value) is not kind:
        allowed = "text" if kind is str else "a whole number"
        raise SchemaError(str(file), f"{path_in_file}.{name}", f"found {value!r}, allowed: {allowed}")
    return value


_MAX_ID = 2**31 - 1


def _read_glue(file: Path, version: int) -> Registered:
    """Read a recorded answer of GetSchemaVersion.  The folder names the subject.

    Glue has no numbers for schemas, so the id is made of the UUID's first 31 bits, the same in every run.
    Raises `SchemaError`.
    """
    try:
        answer = json.loads(file.read_text(encoding="utf-8"))
        format_name, uuid = _text(answer, "DataFormat"), UUID(_text(answer, "SchemaVersionId"))
        text = _text(answer, "SchemaDefinition")
    except (ValueError, KeyError, TypeError) as error:
        problem = f"is not an answer of GetSchemaVersion: {error!r}"
        todo = "Write it with: aws glue get-schema-version --schema-version-id UUID"
        raise SchemaError(str(file), "$", problem, todo) from None
    if format_name != "AVRO":
        raise SchemaError(str(file), "DataFormat", f"found {format_name}, allowed: AVRO")
    schema_id = SchemaId(uuid.int >> 96 & _MAX_ID)
    frame_ids = (FrameId("schemaVersionId", str(uuid)),)
    return Registered(Subject(file.parent.name), version, schema_id, text, frame_ids=frame_ids)


def _text(answer: Mapping[str, Any], key: str) -> str:
    value = answer[key]
    if not isinstance(value, str):
        raise TypeError(key)
    return value
