"""The options of a write follow from the table file; options that would falsify a table are refused."""

import re

import pytest

from ingest.errors import TableFileError
from ingest.hudi.options import hudi_options
from ingest.names import Subject, Topic
from ingest.onboard.layout import choose_buckets
from ingest.tables import Subjects, TableConfig, Target


def table_of(hudi: dict[str, str] | None = None, **target: object) -> TableConfig:
    """Make a table file's value."""
    subjects = Subjects(value=Subject("s.dbo.t-value"))
    return TableConfig(
        name="t",
        topic=Topic("s.dbo.t"),
        dialect="sqlserver",
        subjects=subjects,
        target=Target(**target),  # type: ignore[arg-type]
        hudi=hudi or {},
    )


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.datasource.write.recordkey.field",
        "hoodie.datasource.write.precombine.field",
        "hoodie.table.ordering.fields",
        "hoodie.index.type",
        "hoodie.datasource.write.operation",
        "hoodie.datasource.write.table.type",
        "hoodie.write.record.merge.mode",
        "hoodie.datasource.write.payload.class",
        "hoodie.datasource.write.commitmeta.key.prefix",
        "hoodie.combine.before.upsert",
        "hoodie.datasource.write.keygenerator.class",
        "hoodie.datasource.write.record.merger.impls",
        "hoodie.write.concurrency.mode",
        "hoodie.write.concurrency.early.conflict.detection.enable",
        "hoodie.write.lock.provider",
        "hoodie.write.lock.zookeeper.url",
        "hoodie.cleaner.policy.failed.writes",
        "hoodie.clean.failed.writes.policy",
        "hoodie.clustering.inline",
        "hoodie.datasource.clustering.async.enable",
        "hoodie.logfile.data.block.format",
        "hoodie.write.schema",
        "hoodie.avro.schema",
        "hoodie.write.table.version",
        "hoodie.timeline.path",
        "hoodie.metaserver.enabled",
        "hoodie.table.service.manager.enabled",
        "hoodie.allow.operation.metadata.field",
    ],
)
def test_an_option_that_ingest_decides_is_refused_by_name(key: str) -> None:
    """The table file's reader learns which key to remove."""
    with pytest.raises(TableFileError, match=re.escape(f'hudi."{key}"')) as refused:
        hudi_options(table_of({key: "x"}), ["id"], "upsert")

    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("hoodie.write.concurrency.mode", "only writer"),
        ("hoodie.clustering.inline", "refuses all later changes"),
        ("hoodie.logfile.data.block.format", "an older change overwrites"),
        ("hoodie.write.schema", "schema registry"),
        ("hoodie.archivelog.folder", "own format and layout"),
    ],
)
def test_a_refused_option_comes_with_its_reason(key: str, reason: str) -> None:
    """So that its user finds the setting that does the same here, or sees that none can."""
    with pytest.raises(TableFileError, match=reason):
        hudi_options(table_of({key: "x"}), ["id"], "upsert")


def test_services_and_change_capture_of_the_table_are_allowed() -> None:
    """They begin like options that ingest decides, and change neither rows nor commits."""
    allowed = {"hoodie.table.services.enabled": "false", "hoodie.table.cdc.enabled": "true"}
    options = hudi_options(table_of(allowed), ["id"], "upsert")

    assert {key: options[key] for key in allowed} == allowed


def test_a_tuning_option_of_the_user_wins() -> None:
    """The table file may change the options that ingest only tunes."""
    options = hudi_options(table_of({"hoodie.metadata.enable": "true"}), ["id"], "upsert")

    assert options["hoodie.metadata.enable"] == "true"


def test_only_the_first_write_is_a_bulk_insert() -> None:
    """bulk_insert looks for no keys, so that a second one would double rows."""
    table = table_of(first_load="bulk_insert", index="global_simple", partition_by=("p",))
    operation = "hoodie.datasource.write.operation"

    assert hudi_options(table, ["id"], "load")[operation] == "bulk_insert"
    assert hudi_options(table, ["id"], "upsert")[operation] == "upsert"


def test_a_bucket_index_with_a_partition_outside_the_key_is_refused() -> None:
    """A row that moves to another partition would stay in the old one too."""
    with pytest.raises(TableFileError, match=r"target\.index"):
        hudi_options(table_of(partition_by=("p",)), ["id"], "upsert")


@pytest.mark.parametrize(
    ("keys", "partition_by", "generator"),
    [
        (("id",), (), "NonpartitionedKeyGenerator"),
        (("a", "b"), (), "NonpartitionedKeyGenerator"),
        (("id",), ("id",), "SimpleKeyGenerator"),
        (("a", "b"), ("b",), "ComplexKeyGenerator"),
    ],
)
def test_the_key_generator_follows_the_columns(
    keys: tuple[str, ...], partition_by: tuple[str, ...], generator: str
) -> None:
    """The key generator is fixed with the table, so the rule may never change."""
    options = hudi_options(table_of(partition_by=partition_by), keys, "load")

    assert options["hoodie.datasource.write.keygenerator.class"].endswith("." + generator)


@pytest.mark.parametrize(
    ("rows", "buckets"),
    [(0, 2), (2_000_000, 2), (2_000_001, 3), (50_000_000, 50), (10**10, 256)],
)
def test_a_new_table_gets_a_bucket_per_million_rows(rows: int, buckets: int) -> None:
    """At least 2, at most 256, and the reason names the rows."""
    chosen, reason = choose_buckets(rows)

    assert chosen == buckets
    assert f"{rows:,} expected rows" in reason
