"""One jar, from a repository into a folder: resumed after an interruption, verified, moved into place."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from ingest.errors import JarError, RepositoryUnreachableError
from ingest.jars.pins import PinnedJar, megabytes, sha256_of
from ingest.jars.repository import Repository
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = LazyModule("httpx2")

PAUSES_S: Final = (0.0, 1.0, 3.0)
"""The wait before each attempt."""
TIMEOUT_S: Final = 30.0
CHUNK: Final = 1 << 20
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The answers after which a repetition can succeed."""
_PARTIAL: Final = 206

Show = Callable[[str], None]


@attrs.frozen
class Downloader:
    """Fetches jars over one client, which takes proxies and certificates from the usual variables."""

    repository: Repository
    client: "httpx2.Client"
    show: Show

    def fetch(self, jar: PinnedJar, folder: Path) -> None:
        """Put a jar into the folder.  No other content ever has its name there.

        Raises `JarError` and `RepositoryUnreachableError`.
        """
        partial = folder / f".{jar.file}.part"
        was_resumed = partial.exists()
        self._receive(jar, partial)
        if was_resumed and not jar.equals(partial):
            partial.unlink()
            self._receive(jar, partial)
        if not jar.equals(partial):
            size, digest = partial.stat().st_size, sha256_of(partial)
            partial.unlink()
            raise JarError(
                jar.file,
                f"{self._shown(jar)} has {size:,} bytes with SHA-256 {digest}; "
                f"pinned: {jar.size:,} bytes with {jar.sha256}",
                "The repository or a proxy sends another file: set [spark] repository to a true mirror of "
                "Maven's central repository",
            )
        partial.replace(folder / jar.file)

    def _receive(self, jar: PinnedJar, partial: Path) -> None:
        """Complete a partial file, in a few attempts."""
        problem = ""
        for pause_s in PAUSES_S:
            time.sleep(pause_s)
            try:
                problem = self._receive_rest(jar, partial)
            except httpx2.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
                if "CERTIFICATE" in problem:
                    raise JarError(
                        jar.file,
                        f"{self._shown(jar)}: {problem}",
                        "Set SSL_CERT_FILE to the CA that signed it",
                    ) from None
            if not problem:
                return
        raise RepositoryUnreachableError(self._shown(jar), problem) from None

    def _receive_rest(self, jar: PinnedJar, partial: Path) -> str:
        """Append the missing bytes.  Return the problem of an answer that another try may improve."""
        offset = partial.stat().st_size if partial.exists() else 0
        if offset >= jar.size:
            return ""
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={offset}-"} if offset else {})}
        url = self.repository.url_of(jar.repository_path)
        with self.client.stream("GET", url, headers=headers) as response:
            if response.status_code in _PASSING:
                return _status(response)
            if not response.is_success:
                raise JarError(jar.file, f"{self._shown(jar)} answered {_status(response)}", _todo(response))
            self._append(response, jar, partial)
        return ""

    def _append(self, response: "httpx2.Response", jar: PinnedJar, partial: Path) -> None:
        """Write the body, from the start if the server ignored the range.  Stop beyond the pinned size."""
        with partial.open("ab" if response.status_code == _PARTIAL else "wb") as file:
            for chunk in response.iter_bytes(CHUNK):
                file.write(chunk)
                self.show(f"{jar.file}: {megabytes(file.tell())} of {megabytes(jar.size)}")
                if file.tell() > jar.size:
                    return
            os.fsync(file.fileno())

    def _shown(self, jar: PinnedJar) -> str:
        return attrs.evolve(self.repository, url=self.repository.url_of(jar.repository_path)).shown


def open_client() -> "httpx2.Client":
    """Return a client for a `Downloader`."""
    return httpx2.Client(follow_redirects=True, timeout=TIMEOUT_S)


def _status(response: "httpx2.Response") -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()


def _todo(response: "httpx2.Response") -> str:
    if response.status_code in {401, 403, 407}:
        return "Put user and password into [spark] repository (https://USER:PASSWORD@HOST/PATH)"
    return "Set [spark] repository to the base address of a mirror of Maven's central repository"
