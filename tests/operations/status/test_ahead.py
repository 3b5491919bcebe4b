"""The look ahead: the newest registered version against the policies, before a message has it."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.errors import EvolutionError, IngestError
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.masking import Masking
from ingest.names import SchemaId, Subject, Topic
from ingest.operations.status.ahead import look_ahead
from ingest.registry import FolderRegistry
from ingest.tables import Subjects, TableConfig, feed_of
from ingest.tables.evolution import Policy

REGISTRY = FolderRegistry(Path(__file__).parents[3] / "registry_fixtures" / "sqlserver")
TOPIC = "sqs.testDB.dbo.widen"
"""Its second and third version widen columns."""
KEY, VALUE = Subject(f"{TOPIC}-key"), Subject(f"{TOPIC}-value")
IDS = [REGISTRY.version(VALUE, number).id for number in REGISTRY.versions(VALUE)]


def ahead(policy: Policy, *met_ids: SchemaId, **fields: Any) -> IngestError | None:
    """Look ahead of a table that has met these schemas."""
    table = TableConfig("widen", Topic(TOPIC), "sqlserver", Subjects(key=KEY, value=VALUE))
    table = attrs.evolve(table, evolution={"column-widened": policy, "decimal-widened": policy}, **fields)
    last = LedgerEntry("r", table.topic, {}, {}, schema_ids=met_ids)
    return look_ahead(REGISTRY, feed_of(table, table.topic, Masking()), last)


def test_a_change_that_the_policy_refuses_is_an_error_that_names_the_newest_version() -> None:
    """And what else the policy could be."""
    error = ahead("fail", IDS[0])
    assert isinstance(error, EvolutionError)
    assert (error.kind, error.by) == ("column-widened", f"{VALUE} v3 (id {IDS[-1]})")
    assert "[evolution] column-widened can be evolve" in str(error)


@pytest.mark.parametrize(
    ("policy", "met_ids", "fields"),
    [
        ("evolve", IDS[:1], {}),
        ("reject", IDS[:1], {}),
        ("fail", IDS, {}),
        ("fail", (), {}),
        ("fail", IDS[:1], {"format": "debezium-json"}),
    ],
    ids=["follows", "rejects", "met", "no commits", "no registry"],
)
def test_nothing_is_ahead_of_a_table_that_a_run_would_bring_on(
    policy: Policy, met_ids: tuple[SchemaId, ...], fields: dict[str, Any]
) -> None:
    """Rejects are counted when they come."""
    assert ahead(policy, *met_ids, **fields) is None


def test_a_version_that_fits_no_key_is_an_error() -> None:
    """Such as a table file without a key, whose key subject is left out."""
    error = ahead("evolve", IDS[0], subjects=Subjects(value=VALUE))
    assert "[key] columns" in str(error)
