"""Answers of hostile size or depth: an error that names the place, within seconds."""

import json
from typing import Any

import pytest

from ingest import avro
from ingest.errors import NoRegistryError, SchemaError
from ingest.names import SchemaId, Subject
from ingest.registry import open_registry
from ingest.settings import RegistrySettings


def test_a_schema_of_many_megabytes_is_refused_by_its_size(stage: Any) -> None:
    """A registry keeps schemas in Kafka messages, of 1 MB by default."""
    server = stage(lambda _: (200, {"schema": json.dumps({"type": "fixed", "name": "x" * 20_000_000})}))
    schema = open_registry(RegistrySettings(url=server.url)).by_id(SchemaId(7))
    with pytest.raises(SchemaError, match="characters long, the limit is 4,194,304") as caught:
        avro.parse(schema.schema_text, where="schema id 7")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["[" * 200_000, '{"schema":' * 100_000, '{"subject": "' + "x" * 1_000_000])
def test_an_answer_of_another_server_is_reported_in_one_line(stage: Any, text: str) -> None:
    """Nested beyond the stack, or cut off."""
    registry = open_registry(RegistrySettings(url=stage(lambda _: (200, text)).url, retries=0))
    for ask in (
        registry.subjects,
        lambda: registry.latest(Subject("s")),
        lambda: registry.by_id(SchemaId(1)),
    ):
        with pytest.raises(NoRegistryError, match="is not a schema registry's") as caught:
            ask()
        assert len(str(caught.value)) < 300


def test_references_without_end_are_given_up(stage: Any) -> None:
    """Each version names another one."""

    def play(asked: Any) -> tuple[int, Any]:
        number = int(asked.path.split("/")[4].partition("?")[0])
        used = [{"name": f"r{number}", "subject": "s", "version": number + 1}]
        return 200, {"subject": "s", "version": number, "id": number, "schema": '"int"', "references": used}

    server = stage(play)
    registry = open_registry(RegistrySettings(url=server.url))
    with pytest.raises(SchemaError, match="schema id 1 references: needs more than 200 other schemas"):
        registry.with_references(registry.version(Subject("s"), 1))
    assert len(server.asked) <= 201
