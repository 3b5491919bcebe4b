"""Lists that a server cuts are read to their end, for any meaning of `offset` and `limit`."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.names import Subject
from ingest.registry import Registry, deleted_versions, open_registry, versions_in_order
from ingest.registry.paging import every_page
from ingest.settings import RegistrySettings

NAMES = [f"s.t{number:04d}-value" for number in range(2_345)]
VALUE = Subject("s.t-value")
APICURIOS_CUT = 500

Page = Callable[[Sequence[Any], int, int], Sequence[Any]]


def honours_both(entries: Sequence[Any], offset: int, limit: int) -> Sequence[Any]:
    """Page as Confluent's server does, with a limit of its own of 1,000."""
    return entries[offset : offset + min(limit, 1000)]


def ignores_the_limit(entries: Sequence[Any], offset: int, limit: int) -> Sequence[Any]:
    """Return 100 entries for any limit."""
    del limit
    return entries[offset : offset + 100]


def ignores_both(entries: Sequence[Any], offset: int, limit: int) -> Sequence[Any]:
    """Hand out everything each time, as servers without pages do."""
    del offset, limit
    return entries


def overlaps(entries: Sequence[Any], offset: int, limit: int) -> Sequence[Any]:
    """Begin each page with the last entries of the one before."""
    return entries[max(0, offset - 3) : offset + min(limit, 100)]


PAGES = [honours_both, ignores_the_limit, ignores_both, overlaps]


def _open(stage: Any, entries: Sequence[Any], page: Page) -> tuple[Registry, list[Any]]:
    def play(request: Any) -> tuple[int, object]:
        query = parse_qs(urlsplit(request.path).query)
        return 200, list(page(entries, int(query["offset"][0]), int(query["limit"][0])))

    server = stage(play)
    return open_registry(RegistrySettings(url=server.url, retries=0)), server.asked


@pytest.mark.parametrize("page", PAGES)
def test_every_subject_is_listed_however_a_server_pages(stage: Any, page: Page) -> None:
    """All names, each once, by servers that cut, that ignore the parameters, and that repeat entries."""
    registry, requests = _open(stage, NAMES, page)
    assert registry.subjects() == tuple(NAMES)
    assert len(requests) <= 2 + len(NAMES) // 97


@pytest.mark.parametrize("page", PAGES)
def test_every_version_is_listed_however_a_server_pages(stage: Any, page: Page) -> None:
    """Versions as subjects; below Apicurio's cut the list is all there is to ask for."""
    registry, _ = _open(stage, range(1, 450), page)
    assert registry.versions(VALUE) == tuple(range(1, 450))


def test_few_versions_take_one_request(stage: Any) -> None:
    """A thousand tables are not asked two thousand questions more."""
    registry, requests = _open(stage, range(1, 6), honours_both)
    assert registry.versions(VALUE) == (1, 2, 3, 4, 5)
    assert len(requests) == 1


@pytest.mark.parametrize(("live", "existing"), [(700, 700), (700, 705), (499, 499), (500, 500), (0, 520)])
def test_versions_behind_the_end_of_apicurios_list_are_asked_for_one_by_one(
    stage: Any, live: int, existing: int
) -> None:
    """Apicurio 3.3.3 cuts a subject's list at 500 before it heeds the offset; soft-deleted ones as well."""

    def play(request: Any) -> tuple[int, object]:
        path = urlsplit(request.path)
        query = parse_qs(path.query)
        last = existing if query.get("deleted", ["False"])[0].lower() == "true" else live
        if path.path.endswith("/versions"):
            return 200, list(range(1, last + 1))[:APICURIOS_CUT][int(query["offset"][0]) :]
        text = path.path.rpartition("/")[2]
        number = live if text == "latest" else int(text)
        if not 1 <= number <= last:
            return 404, {"error_code": 40402, "message": "no such version"}
        return 200, {"subject": VALUE, "version": number, "id": number, "schema": '"string"'}

    registry = open_registry(RegistrySettings(url=stage(play).url, retries=0))
    assert registry.versions(VALUE) == tuple(range(1, live + 1))
    assert registry.versions(VALUE, deleted=True) == tuple(range(1, existing + 1))
    assert deleted_versions(registry, VALUE) == frozenset(range(live + 1, existing + 1))
    assert len(versions_in_order(registry, VALUE)) == existing


@given(
    entries=st.lists(st.integers(), unique=True, max_size=60), cut=st.integers(1, 20), back=st.integers(0, 5)
)
def test_pages_of_any_size_give_each_entry_once(entries: list[int], cut: int, back: int) -> None:
    """In the server's order; overlapping pages, which a list that changes gives, repeat nothing."""
    back = min(back, cut - 1)
    pages = every_page(lambda offset: tuple(entries[max(0, offset - back) : offset + cut]))
    assert pages == tuple(entries)
