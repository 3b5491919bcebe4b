"""Jars fetched from a real server: complete, resumed, refused, by several processes at once."""

import hashlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.errors import JarError, RepositoryUnreachableError, UsageError
from ingest.jars import download
from ingest.jars.folder import JarFolder
from ingest.jars.pins import PinnedJar
from tests.certificates import make_certificates
from tests.jars.mirror import Mirror, serve
from tests.patience import PATIENCE_S

LARGE = random.Random(1).randbytes(4_000_000)  # noqa: S311  not secret
SMALL = b"small" * 100
FETCH = """
import resource, sys
from pathlib import Path
from ingest.jars.folder import JarFolder
from ingest.jars.pins import PinnedJar
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
pins = [PinnedJar(*line.split(",")) for line in sys.argv[4:]]
pins = [PinnedJar(pin.coordinate, int(pin.size), pin.sha256) for pin in pins]
print(len(JarFolder(Path(sys.argv[2]), tuple(pins)).fetch(sys.argv[3], lambda _: None)))
"""


def pin(name: str, content: bytes) -> PinnedJar:
    """Pin a content."""
    return PinnedJar(f"org.example:{name}:1.0", len(content), hashlib.sha256(content).hexdigest())


LARGE_JAR, SMALL_JAR = pin("large", LARGE), pin("small", SMALL)
FILES: dict[str, bytes | Path] = {LARGE_JAR.repository_path: LARGE, SMALL_JAR.repository_path: SMALL}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once, and without the proxies of this machine."""
    monkeypatch.setattr(download, "PAUSES_S", (0.0, 0.0, 0.0))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    """Serve both jars."""
    with serve(dict(FILES)) as mirror:
        yield mirror


@pytest.fixture
def folder(tmp_path: Path) -> JarFolder:
    """Return a folder that does not exist yet."""
    return JarFolder(tmp_path / "lib", (LARGE_JAR, SMALL_JAR))


def contents(folder: JarFolder) -> dict[str, bytes]:
    """Read every file of a folder but the lock."""
    return {path.name: path.read_bytes() for path in folder.path.iterdir() if path.name != ".lock"}


COMPLETE = {LARGE_JAR.file: LARGE, SMALL_JAR.file: SMALL}


def test_missing_jars_are_fetched_once_with_a_line_that_says_so(
    folder: JarFolder, mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the first start; the second one asks nobody and says nothing."""
    folder.complete(mirror.url)
    assert contents(folder) == COMPLETE
    text = capsys.readouterr().err
    assert text == f"ingest: note: fetching 2 jars, 4.0 MB, from {mirror.url} into {folder.path}\n"
    folder.complete("https://nobody.invalid")
    assert capsys.readouterr().err == ""
    assert len(mirror.requests) == 2


def test_a_damaged_jar_is_fetched_again(folder: JarFolder, mirror: Mirror) -> None:
    """Every start notices another size, `ingest jars fetch` any other byte."""
    folder.fetch(mirror.url, print)
    (folder.path / SMALL_JAR.file).write_bytes(b"short")
    folder.complete(mirror.url)
    assert contents(folder) == COMPLETE
    (folder.path / SMALL_JAR.file).write_bytes(b"S" + SMALL[1:])
    assert folder.states() == {LARGE_JAR: "present", SMALL_JAR: "damaged"}
    assert folder.fetch(mirror.url, print) == (SMALL_JAR,)
    assert contents(folder) == COMPLETE


def test_a_cut_connection_is_resumed_where_it_ended(folder: JarFolder, mirror: Mirror) -> None:
    """Within one call: the second request asks for the rest only."""
    mirror.cuts = [2_500_000]
    folder.fetch(mirror.url, print)
    assert contents(folder) == COMPLETE
    ranges = [wanted for path, wanted in mirror.requests if path.endswith(LARGE_JAR.file)]
    assert ranges[0] == ""
    assert 1_000_000 < int(ranges[1].removeprefix("bytes=").removesuffix("-")) <= 2_500_000


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_killed_process_leaves_no_jar_and_its_part_is_resumed(
    folder: JarFolder, mirror: Mirror, *, has_ranges: bool
) -> None:
    """SIGKILL in the middle of a file, then another process; also with a server that ignores ranges."""
    mirror.stalled, mirror.has_ranges = threading.Event(), has_ranges
    process = start_fetch(folder, mirror.url)
    partial = folder.path / f".{LARGE_JAR.file}.part"
    deadline = time.monotonic() + PATIENCE_S
    while not (partial.exists() and partial.stat().st_size > 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert set(contents(folder)) == {partial.name}
    mirror.stalled.set()
    mirror.stalled = None
    folder.fetch(mirror.url, print)
    assert contents(folder) == COMPLETE


def test_a_part_with_other_bytes_is_replaced_not_kept(folder: JarFolder, mirror: Mirror) -> None:
    """A part of another version, or one that a crash damaged."""
    folder.path.mkdir()
    for size in (1000, LARGE_JAR.size, LARGE_JAR.size + 1):
        (folder.path / f".{LARGE_JAR.file}.part").write_bytes(b"x" * size)
        (folder.path / LARGE_JAR.file).unlink(missing_ok=True)
        folder.fetch(mirror.url, print)
        assert contents(folder) == COMPLETE


def test_another_content_is_refused_and_never_gets_the_jars_name(folder: JarFolder, mirror: Mirror) -> None:
    """The error has both checksums; sizes equal, shorter and longer."""
    for content in (b"x" * len(SMALL), b"<html>log in</html>", SMALL + b"x" * 5_000_000):
        mirror.files[SMALL_JAR.repository_path] = content
        with pytest.raises(JarError, match=rf"pinned: 500 bytes with {SMALL_JAR.sha256}\. The repository or"):
            folder.fetch(mirror.url, print)
        assert set(contents(folder)) == {LARGE_JAR.file}


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (404, JarError, r"large-1\.0\.jar answered 404 Not Found\. Set \[spark\] repository to the base"),
        (401, JarError, r"answered 401 Unauthorized\. Put user and password into \[spark\] repository"),
        (
            503,
            RepositoryUnreachableError,
            "503 Service Unavailable. Try again: the part that arrived is kept",
        ),
    ],
)
def test_an_answer_without_the_jar_is_an_error_with_its_remedy(
    folder: JarFolder, mirror: Mirror, status: int, error: type[Exception], text: str
) -> None:
    """A wrong base address, a login, an outage that lasts."""
    mirror.statuses = [status] * 3
    with pytest.raises(error, match=text):
        folder.fetch(mirror.url, print)


def test_an_outage_that_passes_is_not_an_error(folder: JarFolder, mirror: Mirror) -> None:
    """Two of three attempts may fail."""
    mirror.statuses = [503, 429]
    folder.fetch(mirror.url, print)
    assert contents(folder) == COMPLETE


def test_no_network_is_temporary_and_names_proxy_and_air_gap(folder: JarFolder) -> None:
    """A closed port: exit code 75, without the password of the address."""
    url = "http://ann:s3cret@127.0.0.1:9/maven"
    with pytest.raises(RepositoryUnreachableError, match=r"HTTPS_PROXY.*ingest jars list") as caught:
        folder.fetch(url, print)
    assert caught.value.exit_code == 75
    assert "s3cret" not in str(caught.value)
    assert f"//***@127.0.0.1:9/maven/{LARGE_JAR.repository_path}: ConnectError" in str(caught.value)


def test_a_proxy_of_the_environment_is_used(
    folder: JarFolder, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host does not resolve: only the proxy can reach it."""
    monkeypatch.setenv("HTTP_PROXY", mirror.url.removesuffix("/maven"))
    folder.fetch("http://repository.invalid/maven2/", print)
    assert contents(folder) == COMPLETE
    assert mirror.requests[0][0] == f"http://repository.invalid/maven2/{LARGE_JAR.repository_path}"


def test_https_is_verified(folder: JarFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown authority is refused with the remedy; SSL_CERT_FILE makes it known."""
    certificates = make_certificates(tmp_path)
    with serve(dict(FILES), certificates) as mirror:
        with pytest.raises(JarError, match=r"CERTIFICATE_VERIFY_FAILED.* Set SSL_CERT_FILE"):
            folder.fetch(mirror.url, print)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
        folder.fetch(mirror.url, print)
    assert contents(folder) == COMPLETE


def test_several_processes_fetch_each_jar_once(folder: JarFolder, mirror: Mirror) -> None:
    """One fetches, the others wait, and say so."""
    processes = [start_fetch(folder, mirror.url) for _ in range(3)]
    results = [process.communicate(timeout=PATIENCE_S) for process in processes]
    assert sorted(int(out) for out, _ in results) == [0, 0, 2], results
    assert contents(folder) == COMPLETE
    assert sorted(path.rpartition("/")[2] for path, _ in mirror.requests) == [LARGE_JAR.file, SMALL_JAR.file]


def test_a_disk_without_space_is_an_error_before_the_download(tmp_path: Path, mirror: Mirror) -> None:
    """A jar larger than any disk."""
    huge = PinnedJar("org.example:huge:1.0", 1 << 60, "")
    with pytest.raises(JarError, match=r"are free, and the jars need .*set XDG_CACHE_HOME"):
        JarFolder(tmp_path / "lib", (huge,)).fetch(mirror.url, print)
    assert mirror.requests == []


def test_a_file_that_cannot_be_written_is_an_error_with_its_reason(folder: JarFolder, mirror: Mirror) -> None:
    """The limit on a file's size stands for a disk that fills up meanwhile."""
    process = start_fetch(folder, mirror.url, limit=2_000_000)
    _, text = process.communicate(timeout=PATIENCE_S)
    assert f"{LARGE_JAR.file}: cannot be written to {folder.path}: File too large" in text


def test_a_folder_that_cannot_be_made_is_wrong_usage(tmp_path: Path, mirror: Mirror) -> None:
    """A file in its path."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"is not writable: .*XDG_CACHE_HOME"):
        JarFolder(tmp_path / "file" / "lib", (SMALL_JAR,)).fetch(mirror.url, print)


def start_fetch(folder: JarFolder, url: str, limit: int = -1) -> subprocess.Popen[str]:
    """Fetch in another process, with a limit on the size of its files."""
    pins = [f"{jar.coordinate},{jar.size},{jar.sha256}" for jar in folder.jars]
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, str(limit), str(folder.path), url, *pins],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
