"""Values of `[hudi]` options that a write could not use are errors before anything is read."""

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.errors import TableFileError
from ingest.hudi.option_values import CLASSES, check_values
from ingest.hudi.options import OWNED
from ingest.hudi.owned import refusal
from ingest.names import Subject, Topic
from ingest.spark.java import find_class
from ingest.tables import Subjects, TableConfig, Target

pytestmark = pytest.mark.spark

TABLE = TableConfig(name="t", topic=Topic("t"), dialect="sqlserver", subjects=Subjects(value=Subject("v")))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("hoodie.clean.trigger.max.commits", "ten", "a whole number"),
        ("hoodie.parquet.max.file.size", "1GB", "a whole number"),
        ("hoodie.upsert.shuffle.parallelism", "many", "a whole number"),
        ("hoodie.parquet.compression.ratio", "x", "a number"),
        ("hoodie.clean.automatic", "maybe", "true or false"),
        ("hoodie.cleaner.policy", "X", "HoodieCleaningPolicy"),
        ("hoodie.parquet.compression.codec", "foo", "CompressionCodecName"),
        ("hoodie.compaction.strategy", "org.apache.hudi.NoStrategy", "the name of a class"),
    ],
)
def test_a_malformed_value_names_its_option(spark: SparkSession, key: str, value: str, allowed: str) -> None:
    """Exit code 2, with the option, the value and the values allowed."""
    with pytest.raises(TableFileError) as refused:
        check_values(spark, attrs.evolve(TABLE, hudi={key: value}))

    assert f'hudi."{key}"' in str(refused.value)
    assert allowed in str(refused.value)


def test_values_that_hudi_takes_pass(spark: SparkSession) -> None:
    """Also options that it does not know: other versions and engines have theirs."""
    options = {
        "hoodie.clean.trigger.max.commits": "20",
        "hoodie.parquet.compression.ratio": "1",
        "hoodie.parquet.compression.codec": "snappy",
        "hoodie.clean.automatic": "False",
        "hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS",
        "hoodie.unknown.option": "any",
    }
    check_values(spark, attrs.evolve(TABLE, hudi=options))


def test_options_that_exclude_one_of_ours_are_refused(spark: SparkSession) -> None:
    """Hudi schedules or compacts inside the write, not both."""
    options = {"hoodie.compact.inline": "true", "hoodie.compact.schedule.inline": "true"}
    table = attrs.evolve(TABLE, target=Target(type="mor"), hudi=options)
    with pytest.raises(TableFileError, match="Either of inline compaction"):
        check_values(spark, table)


@pytest.mark.parametrize("name", CLASSES)
def test_the_classes_of_options_are_those_of_the_pinned_version(spark: SparkSession, name: str) -> None:
    """Each has fields of options: one that was renamed would check nothing."""
    types = [field.getType().getSimpleName() for field in find_class(spark, name).getFields()]
    assert "ConfigProperty" in types


@pytest.mark.parametrize("name", CLASSES)
def test_an_option_is_refused_by_each_of_its_names(spark: SparkSession, name: str) -> None:
    """Hudi reads older names too."""
    for field in find_class(spark, name).getFields():
        if field.getType().getSimpleName() == "ConfigProperty":
            option = field.get(None)
            names = [option.key(), *option.getAlternatives()]
            assert len({refusal(each, OWNED) is None for each in names}) == 1, names
