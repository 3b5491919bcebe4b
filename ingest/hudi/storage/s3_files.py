"""The folder of a table in S3, read by pyarrow's client: the extra `[files]`."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import attrs

from ingest.hudi.storage.folder import StoredFile, UnclearFilesError
from ingest.hudi.storage.s3_settings import S3Settings
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    from pyarrow import fs
else:  # an extra
    fs = LazyModule("pyarrow.fs")

_CONNECT_S: Final = 5
_READ_S: Final = 10
_ATTEMPTS: Final = 2
"""A server that hangs costs 20 s, also at the exit of the process: then Spark takes the table."""


@attrs.frozen
class S3Folder:
    """A table's folder in a bucket (a `TableFolder`)."""

    settings: S3Settings
    key: str

    @property
    def uri(self) -> str:
        """The folder, as programs without Hadoop name it."""
        return f"s3://{self._full('')}"

    def exists(self) -> bool:
        """Tell whether there are objects below the key.  Raises UnclearFilesError without a bucket."""
        if self._type_of(f"{self.settings.bucket}/{self.key}") == fs.FileType.Directory:
            return True
        if self._type_of(self.settings.bucket) != fs.FileType.Directory:
            raise UnclearFilesError(f"s3a://{self.settings.bucket}: not found")
        return False

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files directly in a folder."""
        yield from self._list(folder, recursive=False)

    def data_files(self) -> Iterator[StoredFile]:
        """Yield all files below, but for those in `.hoodie`."""
        for file in self._list("", recursive=True):
            if not file.path.startswith(".hoodie/"):
                yield file

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the bytes of files, from one listing of each folder, without those that are missing."""
        wanted = frozenset(paths)
        sizes: dict[str, int] = {}
        for folder in {path.rpartition("/")[0] for path in wanted}:
            with suppress(FileNotFoundError):
                sizes |= {file.path: file.size for file in self.files(folder) if file.path in wanted}
        return sizes

    def read(self, path: str) -> bytes:
        """Read a file.  S3 keeps its own checksums."""
        with self._client.open_input_stream(self._full(path), compression=None) as content:
            return bytes(content.read())

    def open(self, path: str) -> BinaryIO:
        """Open a file that is read in parts."""
        return cast("BinaryIO", self._client.open_input_file(self._full(path)))

    @property
    def _client(self) -> Any:
        return _connect(self.settings)

    def _full(self, path: str) -> str:
        return "/".join(part for part in (self.settings.bucket, self.key, path) if part)

    def _type_of(self, full: str) -> Any:
        return self._client.get_file_info(full).type

    def _list(self, folder: str, *, recursive: bool) -> Iterator[StoredFile]:
        root = self._full("") + "/"
        for info in self._client.get_file_info(fs.FileSelector(self._full(folder), recursive=recursive)):
            if info.type == fs.FileType.File:
                yield StoredFile(info.path.removeprefix(root), info.size)


@cache
def _connect(settings: S3Settings) -> Any:
    """Open a client, which tables of one bucket share."""
    keys = {"access_key": settings.access_key, "secret_key": settings.secret_key}
    if settings.session_token:
        keys["session_token"] = settings.session_token
    return fs.S3FileSystem(
        **(keys if settings.access_key else {"anonymous": True}),
        region=settings.region or fs.resolve_s3_region(settings.bucket),
        endpoint_override=settings.endpoint or None,
        scheme=settings.scheme,
        force_virtual_addressing=bool(settings.endpoint) and not settings.is_path_style,
        connect_timeout=_CONNECT_S,
        request_timeout=_READ_S,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )
