"""The newest versions of many subjects from one list, as Confluent's and Apicurio's servers give it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ingest.errors import IngestError
from ingest.names import Subject
from ingest.registry import Newest, Registry, open_registry
from ingest.settings import RegistrySettings

Versions = Sequence[tuple[str, int, int]]
"""Subject, version and id, in the order of a list."""

FEW: Versions = [("s.a-value", 3, 30), ("s.b-key", 1, 7), ("s.b-value", 2, 21)]
ASKED = [Subject(name) for name in ("s.a-value", "s.b-key", "s.b-value", "s.missing-value")]
NEWEST = {
    ASKED[0]: Newest(30, is_only=False),  # type: ignore[arg-type]
    ASKED[1]: Newest(7, is_only=True),  # type: ignore[arg-type]
    ASKED[2]: Newest(21, is_only=False),  # type: ignore[arg-type]
}


def _open(stage: Any, play: Callable[[Any, Mapping[str, str]], Any], path: str = "") -> tuple[Registry, Any]:
    def answer(request: Any) -> tuple[int, Any]:
        split = urlsplit(request.path)
        found = play(split.path, {name: values[0] for name, values in parse_qs(split.query).items()})
        return (404, {"error_code": 404, "message": "HTTP 404 Not Found"}) if found is None else (200, found)

    server = stage(answer)
    return open_registry(RegistrySettings(url=server.url + path, retries=0)), server.asked


# --- Confluent's list: schema-registry 8.5.0, SchemasResource.getSchemas -------------------------


def _confluent(
    versions: Versions, most: int = 1_000, *, heeds_offset: bool = True
) -> Callable[[str, Mapping[str, str]], Any]:
    """List schemas by pages of at most `most`, as `schema.search.max.limit` bounds them."""

    def play(path: str, query: Mapping[str, str]) -> Any:
        if path != "/schemas":
            return None
        assert (query["deleted"], query["latestOnly"]) == ("true", "true")
        offset = int(query["offset"]) if heeds_offset else 0
        fitting = [entry for entry in versions if entry[0].startswith(query.get("subjectPrefix", ""))]
        page = fitting[offset : offset + min(most, int(query["limit"]))]
        return [
            {"subject": name, "version": version, "id": number, "schema": '"int"'}
            for name, version, number in page
        ]

    return play


@pytest.mark.parametrize("most", [1_000, 2, 1])
def test_confluents_list_is_read_to_its_end(stage: Any, most: int) -> None:
    """By pages, of subjects with the prefix that all have."""
    registry, asked = _open(stage, _confluent([*FEW, ("t.c-value", 1, 99)], most))
    assert registry.newest(ASKED) == NEWEST
    assert all("subjectPrefix=s." in request.path for request in asked)


def test_a_server_without_pages_gives_its_list_twice(stage: Any) -> None:
    """It answers the second request as the first one."""
    registry, asked = _open(stage, _confluent(FEW, heeds_offset=False))
    assert registry.newest(ASKED) == NEWEST
    assert len(asked) == 2


def test_a_list_of_all_versions_is_not_used(stage: Any) -> None:
    """A server that ignores `latestOnly` may cut it between two versions of a subject."""
    registry, _ = _open(stage, _confluent([("s.a-value", 2, 29), *FEW]))
    assert registry.newest(ASKED) == {}


def test_a_list_far_longer_than_what_is_asked_is_not_read_to_its_end(stage: Any) -> None:
    """A registry of a whole company, and a deployment of a few tables."""
    registry, asked = _open(stage, _confluent([(f"s.{number}", 1, number) for number in range(9_000)], 500))
    assert registry.newest(ASKED) == {}
    assert len(asked) == 3


def test_a_registry_without_a_list_says_so(stage: Any) -> None:
    """Each subject is asked for then."""
    registry, _ = _open(stage, lambda *_: None)
    with pytest.raises(IngestError):
        registry.newest(ASKED)


# --- Apicurio's own list -------------------------------------------------------------------------

OWN = "/apis/registry/v3/search/versions"
CONFLUENTS = "/apis/ccompat/v7"


def _version(name: str, global_id: int, content_id: int, state: str = "ENABLED") -> dict[str, Any]:
    return {"artifactId": name, "globalId": global_id, "contentId": content_id, "state": state}


def _apicurio(versions: Sequence[dict[str, Any]], shown: int, most: int = 1_000) -> Any:
    """List versions by pages of at most `most`, and show one id for the latest version of `s.a-value`."""

    def play(path: str, query: Mapping[str, str]) -> Any:
        if path == f"{CONFLUENTS}/subjects/s.a-value/versions/latest":
            return {"subject": "s.a-value", "version": 2, "id": shown, "schema": '"int"'}
        assert (path, query["orderby"], query["order"]) == (OWN, "globalId", "asc")
        offset, limit = int(query["offset"]), min(most, int(query["limit"]))
        return {"count": len(versions), "versions": versions[offset : offset + limit]}

    return play


A_AND_B = [_version("s.a-value", 3, 3), _version("s.b-key", 8, 7), _version("s.a-value", 31, 12)]


@pytest.mark.parametrize("most", [1_000, 3, 2])
@pytest.mark.parametrize(("shown", "ids"), [(12, (12, 7)), (31, (31, 8)), (99, None)])
def test_apicurios_ids_are_those_of_its_confluent_api(
    stage: Any, shown: int, ids: tuple[int, int] | None, most: int
) -> None:
    """Content ids, or global ids in the mode for old clients.  One version tells, unless its id is new."""
    registry, _ = _open(stage, _apicurio(A_AND_B, shown, most), CONFLUENTS)
    expected = [("s.a-value", ids[0], False), ("s.b-key", ids[1], True)] if ids else []
    found = registry.newest(ASKED)
    assert [(name, item.id, item.is_only) for name, item in found.items()] == expected


@pytest.mark.parametrize("deleted", [0, 1, 2, 3])
def test_a_version_that_is_deleted_between_two_pages_hides_no_other(stage: Any, deleted: int) -> None:
    """A version that moves to an earlier page would be left out: the list is not used then."""
    versions = [_version(f"s.{name}", number, number) for number, name in enumerate("abcd")]
    pages = 0

    def play(path: str, query: Mapping[str, str]) -> Any:
        nonlocal pages
        pages += 1
        left = [version for version in versions if pages == 1 or version["globalId"] != deleted]
        return _apicurio(left, 0, 2)(path, query)

    registry, _ = _open(stage, play, CONFLUENTS)
    found = registry.newest([Subject(f"s.{name}") for name in "abcd"])
    complete = {f"s.{name}" for number, name in enumerate("abcd") if number != deleted}
    assert set(found) in (complete, set())


@pytest.mark.parametrize(
    ("versions", "names"),
    [
        ([_version("s.a-value", 3, 3, "DRAFT"), _version("s.b-key", 4, 4)], ["s.b-key"]),
        ([_version("s.a-value", 3, 3, "DISABLED"), _version("s.b-key", 4, 4, "DEPRECATED")], ["s.b-key"]),
        ([_version("s.a-value", 3, 3), _version("s.a-value", 4, 2, "DISABLED")], []),
        ([_version(f"t.{number}", number, number) for number in range(201)], []),
    ],
    ids=["a draft", "a deleted subject", "no version that tells the ids", "a list far longer than asked"],
)
def test_what_apicurios_list_does_not_tell_is_left_out(stage: Any, versions: Any, names: list[str]) -> None:
    """Each subject is asked for then."""
    registry, asked = _open(stage, _apicurio(versions, 0, 100), CONFLUENTS)
    assert [str(name) for name in registry.newest(ASKED)] == names
    assert len(asked) == 1


def test_apicurio_2_lists_no_versions(stage: Any) -> None:
    """It has no path for it."""
    registry, _ = _open(stage, lambda *_: None, CONFLUENTS)
    assert registry.newest(ASKED) == {}
