"""The client against servers that misbehave: real HTTP on loopback, each playing one fault."""

import socket
import time
from typing import Any

import pytest

from ingest.errors import (
    IngestError,
    NoRegistryError,
    RegistryRefusedError,
    RegistryUnreachableError,
    RetryableError,
    SchemaError,
    SchemaNotFoundError,
)
from ingest.names import SchemaId, Subject
from ingest.registry import CompatibilityResult, Registry, open_registry
from ingest.settings import RegistrySettings, Secret

TEXT = '{"type":"string"}'
VALUE = Subject("s.t-value")


def _open(*urls: str, timeout_s: float = 5.0) -> Registry:
    return open_registry(RegistrySettings(url=",".join(urls), timeout_s=timeout_s, retries=0))


def _version(number: int) -> dict[str, Any]:
    return {"subject": VALUE, "version": number, "id": 10 + number, "schema": TEXT}


@pytest.fixture
def refused() -> str:
    """Return an address where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize("status", [500, 501, 502, 503, 429])
def test_a_server_in_trouble_is_temporary(stage: Any, status: int) -> None:
    """Server errors and throttling exit with 75: try again later."""
    server = stage(lambda _: (status, {"error_code": status * 100, "message": "later"}))
    with pytest.raises(RegistryUnreachableError, match=f"HTTP {status}: later") as caught:
        _open(server.url).latest(VALUE)
    assert isinstance(caught.value, RetryableError)


@pytest.mark.parametrize(
    "body", ["<html>Sign in</html>", "", "[1, 2]", "{}", '"x"', '{"subject": 1}', "null"]
)
def test_another_servers_answer_is_permanent_and_names_the_likely_cause(stage: Any, body: str) -> None:
    """A proxy's page, or JSON of another shape, is not taken for a schema; trying again does not help."""
    registry = _open(stage(lambda _: (200, body)).url)
    for ask in (lambda: registry.latest(VALUE), lambda: registry.by_id(SchemaId(1))):
        with pytest.raises(
            NoRegistryError, match=r"not a schema registry's.*Check host, port and path"
        ) as caught:
            ask()
        assert caught.value.exit_code == 1
    with pytest.raises(NoRegistryError, match="not a schema registry's"):
        registry.compatible(VALUE, TEXT)


def test_subject_lists_of_another_shape_are_not_a_registrys(stage: Any) -> None:
    """A list of anything but names, or of anything but numbers, is garbage."""
    registry = _open(stage(lambda _: (200, [{"name": "x"}])).url)
    with pytest.raises(NoRegistryError, match="not a schema registry's"):
        registry.subjects()
    with pytest.raises(NoRegistryError, match="not a schema registry's"):
        registry.versions(VALUE)


def test_https_on_a_plain_port_is_permanent_and_names_the_cause(stage: Any) -> None:
    """OpenSSL finds bytes that are not TLS: the scheme of the address is wrong."""
    address = stage(lambda _: (200, [])).url.replace("http://", "https://")
    with pytest.raises(
        NoRegistryError, match=r"does not speak TLS.*Write http:// in place of https://"
    ) as caught:
        _open(address).subjects()
    assert caught.value.exit_code == 1


def test_http_on_a_tls_port_is_permanent_and_names_the_cause(stage: Any) -> None:
    """Servers answer plain HTTP on a TLS port with 400 and words such as nginx's."""
    page = "<html>The plain HTTP request was sent to HTTPS port</html>"
    with pytest.raises(NoRegistryError, match="Write https:// in place of http://"):
        _open(stage(lambda _: (400, page)).url).subjects()


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_login_names_the_settings(stage: Any, status: int) -> None:
    """Those to set, or those to check."""
    url = stage(lambda _: (status, {"error_code": status, "message": "no"})).url
    with pytest.raises(
        RegistryRefusedError, match=r'Set .registry. basic_auth = "user:password", or bearer_token'
    ):
        _open(url).subjects()
    with pytest.raises(RegistryRefusedError, match=r"Check .registry. bearer_token"):
        open_registry(RegistrySettings(url=url, bearer_token=Secret("t0k"))).subjects()


def test_silence_is_temporary_and_names_the_wait(stage: Any) -> None:
    """The timeout is the setting's, not a minute's."""

    def sleep(_: object) -> tuple[int, object]:
        time.sleep(0.4)
        return 200, []

    registry = _open(stage(sleep).url, timeout_s=0.1)
    with pytest.raises(RegistryUnreachableError, match=r"no whole answer within 0\.1 s"):
        registry.subjects()


def test_a_refused_connection_is_temporary(refused: str) -> None:
    """Nothing listens: exit code 75."""
    with pytest.raises(RegistryUnreachableError, match="Connection refused"):
        _open(refused).subjects()


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422])
def test_a_no_is_final_and_keeps_the_registrys_words(stage: Any, status: int) -> None:
    """Bad credentials and incompatible schemas stay so when tried again."""
    server = stage(lambda _: (status, {"error_code": 42201, "message": "not like this"}))
    with pytest.raises(RegistryRefusedError, match=f"HTTP {status}: not like this") as caught:
        _open(server.url).register(VALUE, TEXT)
    assert caught.value.exit_code == 1
    assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "code"), [(404, 40401), (404, 40402), (404, 40403), (422, 42202)])
def test_the_registrys_not_found_codes_name_the_missing_item(stage: Any, status: int, code: int) -> None:
    """Confluent and Apicurio use different ones for a bad version."""
    registry = _open(stage(lambda _: (status, {"error_code": code, "message": "x"})).url)
    with pytest.raises(SchemaNotFoundError, match=r"subject s\.t-value version 4 does not exist"):
        registry.version(VALUE, 4)
    with pytest.raises(SchemaNotFoundError, match="schema id 9 does not exist"):
        registry.by_id(SchemaId(9))


@pytest.mark.parametrize("body", ["", "<html/>", '{"message": "no"}'])
def test_a_bare_404_hints_at_the_urls_path(stage: Any, body: str) -> None:
    """Apicurio has its API under a path: forgetting it must not look like an empty registry."""
    registry = _open(stage(lambda _: (404, body)).url)
    with pytest.raises(RegistryRefusedError, match="the path does not exist"):
        registry.subjects()
    with pytest.raises(SchemaNotFoundError, match=r"schema id 9 does not exist\. Or the path"):
        registry.by_id(SchemaId(9))
    for ask in (registry.compatibility, lambda subject: registry.compatible(subject, TEXT)):
        with pytest.raises(RegistryRefusedError, match="the path does not exist"):
            ask(VALUE)


def test_the_next_server_is_asked_when_one_is_out_of_reach(stage: Any, refused: str) -> None:
    """Refused, in trouble, garbage, then one that works; it is asked first from then on."""
    broken = stage(lambda _: (503, {"message": "down"}))
    page = stage(lambda _: (200, "<html/>"))
    good = stage(lambda _: (200, ["a-value"]))
    registry = _open(refused, broken.url, page.url, good.url)
    assert registry.subjects() == ("a-value",)
    assert registry.subjects() == ("a-value",)
    assert [len(server.asked) for server in (broken, page, good)] == [
        1,
        1,
        4,
    ]  # the names, and no more of them


def test_a_no_is_not_taken_to_the_next_server(stage: Any) -> None:
    """The second server would only be asked the same wrong thing."""
    second = stage(lambda _: (200, ["a-value"]))
    registry = _open(stage(lambda _: (401, {"message": "who?"})).url, second.url)
    with pytest.raises(RegistryRefusedError, match=r"who\?"):
        registry.subjects()
    assert second.asked == []


def test_when_all_servers_fail_each_is_named(stage: Any, refused: str) -> None:
    """The message quotes the answer of every address."""
    broken = stage(lambda _: (503, {"message": "down"}))
    with pytest.raises(RegistryUnreachableError) as caught:
        _open(refused, broken.url).subjects()
    assert refused in str(caught.value)
    assert f"{broken.url}: list subjects: HTTP 503: down" in str(caught.value)


def test_a_failure_is_retried_as_often_as_the_settings_say(stage: Any) -> None:
    """Two retries are three requests."""
    answers = iter([(503, {}), (503, {}), (200, [1])])
    server = stage(lambda _: next(answers))
    assert open_registry(RegistrySettings(url=server.url, retries=2)).versions(VALUE) == (1,)
    assert len(server.asked) == 3


def test_subjects_are_filtered_here_for_any_server(stage: Any) -> None:
    """Apicurio ignores subjectPrefix."""
    server = stage(lambda _: (200, ["t.b-value", "s.b-value", "s.a-value", "s.a-key"]))
    assert _open(server.url).subjects("s.*-value") == ("s.a-value", "s.b-value")
    assert "subjectPrefix=s." in server.asked[0].path


def test_ids_and_versions_are_asked_once_and_the_latest_each_time(stage: Any) -> None:
    """An id never changes; what is newest does, also for a process that lives long."""
    numbers = iter(range(1, 9))

    def play(request: Any) -> tuple[int, object]:
        path = request.path.partition("?")[0]
        if path.endswith("latest"):
            return 200, _version(next(numbers))
        return 200, _version(1) if "versions" in path else {"schema": TEXT}

    server = stage(play)
    registry = _open(server.url)
    assert registry.by_id(SchemaId(5)) == registry.by_id(SchemaId(5))
    assert registry.version(VALUE, 1) == registry.version(VALUE, 1)
    assert len(server.asked) == 2
    assert [registry.latest(VALUE).version for _ in range(3)] == [1, 2, 3]


def test_the_compatibility_level_falls_back_to_the_global_one(stage: Any) -> None:
    """Confluent answers 40408 for a subject without its own level."""

    def play(request: Any) -> tuple[int, object]:
        if request.path == "/config":
            return 200, {"compatibilityLevel": "FULL"}
        return 404, {"error_code": 40408, "message": "no own level"}

    assert _open(stage(play).url).compatibility(VALUE) == "FULL"


OLDER = '{oldSchema: \'{"type":"int"}\'}'
NO = {"is_compatible": False, "messages": ["reader type", "writer type", OLDER]}


def test_a_verdict_carries_the_registrys_reasons(stage: Any) -> None:
    """Confluent explains when asked, and repeats the older schema; an unknown subject takes any."""
    answers = iter([(200, NO), (404, {"error_code": 40401, "message": "x"})])
    server = stage(lambda _: next(answers))
    registry = _open(server.url)
    assert registry.compatible(VALUE, TEXT) == CompatibilityResult(False, ("reader type", "writer type"))  # noqa: FBT003 - a value
    assert registry.compatible(VALUE, TEXT) == CompatibilityResult(compatible=True)
    assert "verbose=true" in server.asked[0].path


def test_a_check_is_against_the_version_that_is_asked_for(stage: Any) -> None:
    """One that is not there is an error, for it takes nothing; -1 is the latest."""
    answers = iter([(200, NO), (200, NO), (404, {"error_code": 40402, "message": "x"})])
    server = stage(lambda _: next(answers))
    registry = _open(server.url)
    assert not registry.compatible(VALUE, TEXT, version=2).compatible
    assert not registry.compatible(VALUE, TEXT, version=-1).compatible
    with pytest.raises(SchemaNotFoundError, match=r"subject s\.t-value version 9 does not exist"):
        registry.compatible(VALUE, TEXT, version=9)
    numbers = [item.path.partition("?")[0].rpartition("/")[2] for item in server.asked]
    assert numbers == ["2", "latest", "9"]


def test_confluents_server_never_gets_a_request_of_apicurios_api(stage: Any) -> None:
    """A no without reasons stays so: one question, and no registration is tried."""
    server = stage(lambda _: (200, {"is_compatible": False}))
    assert _open(server.url).compatible(VALUE, TEXT) == CompatibilityResult(compatible=False)
    assert len(server.asked) == 1


@pytest.mark.parametrize("answer", [(403, {"name": "ForbiddenException"}), (404, {}), (500, {})])
def test_a_reader_without_permission_gets_the_verdict_without_reasons(
    stage: Any, answer: tuple[int, object]
) -> None:
    """Trying asks for the right to write, and Apicurio 2 cannot do it: the check's own answer holds."""

    def play(request: Any) -> tuple[int, object]:
        return answer if "dryRun" in request.path else (200, {"is_compatible": False})

    server = stage(play)
    url = f"{server.url.replace('//', '//bob:pw@')}/apis/ccompat/v7"
    assert _open(url).compatible(VALUE, TEXT) == CompatibilityResult(compatible=False)
    assert server.asked[-1].path.endswith("/s.t-value/versions?dryRun=true")
    assert server.asked[-1].headers["Authorization"] == server.asked[0].headers["Authorization"]


def test_a_bearer_token_goes_along_when_a_registration_is_tried(stage: Any) -> None:
    """Apicurio's own API wants the same login."""
    server = stage(lambda _: (200, {"is_compatible": False}))
    settings = RegistrySettings(url=f"{server.url}/apis/ccompat/v7", bearer_token=Secret("t0k"))
    open_registry(settings).compatible(VALUE, TEXT)
    assert [item.headers["Authorization"] for item in server.asked] == ["Bearer t0k"] * 2


def test_a_schema_that_is_not_avro_is_named(stage: Any) -> None:
    """A JSON schema under the same subject naming is not read as Avro."""
    play = {**_version(1), "schemaType": "JSON"}
    with pytest.raises(SchemaError, match="version 1 schemaType: found JSON, allowed: AVRO"):
        _open(stage(lambda _: (200, play)).url).latest(VALUE)


def test_secrets_that_a_server_repeats_are_masked(stage: Any) -> None:
    """Neither its words nor its address show a password; long pages are cut."""
    server = stage(lambda _: (403, {"message": "alice:geheim may not " + "x" * 1000}))
    settings = RegistrySettings(url=server.url, basic_auth=Secret("alice:geheim"))
    with pytest.raises(RegistryRefusedError) as caught:
        open_registry(settings).subjects()
    assert "geheim" not in str(caught.value)
    assert len(str(caught.value)) < 500

    in_url = server.url.replace("//", "//bob:hidden@")
    with pytest.raises(IngestError) as caught_url:
        _open(in_url).subjects()
    assert "hidden" not in str(caught_url.value)
    assert "//***@127.0.0.1" in str(caught_url.value)
