"""What a context of ours spares its jobs changes no result: code kept, rules passed by, closures trusted."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.spark.java import hadoop_of, jvm_of
from ingest.spark.session import EXTENSIONS, LIGHT_EXTENSION, SERIALIZER

pytestmark = pytest.mark.spark


def test_generated_code_is_kept(outer_spark: SparkSession) -> None:
    """Spark's own cache keeps 100 classes, of which a table needs ten."""
    jvm = jvm_of(outer_spark)
    codegen = jvm.org.apache.spark.sql.catalyst.expressions.codegen
    compiled = jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    no_comments = jvm.PythonUtils.toScalaMap({})
    counts = []
    for _ in range(2):
        for number in range(200):
            text = f"public Object generate(Object[] references) {{ return Integer.valueOf({number}); }}"
            codegen.CodeGenerator.compile(codegen.CodeAndComment(text, no_comments))
        counts.append(compiled.getCount())

    assert counts[1] == counts[0]


def test_hadoops_configuration_has_its_entries_without_their_origins(outer_spark: SparkSession) -> None:
    """A copy of it, as jobs get, is small, and has what the files and this program have set."""
    jvm = jvm_of(outer_spark)
    whole, sent = jvm.org.apache.hadoop.conf.Configuration(), jvm.org.apache.hadoop.conf.Configuration()
    ours = hadoop_of(outer_spark)

    jvm.org.apache.hadoop.util.ReflectionUtils.cloneWritableInto(sent, ours)

    entries = {key: ours.getRaw(key) for key in ("fs.file.impl", "io.file.buffer.size", "yarn.acl.enable")}
    assert entries["fs.file.impl"] == "io.hudicdc.ingest.spark.LocalFiles"
    assert entries == {key: sent.getRaw(key) for key in entries}
    assert sent.size() == ours.size() >= whole.size()
    assert list(whole.getPropertySources("io.file.buffer.size")) == ["core-default.xml"]
    assert ours.getPropertySources("io.file.buffer.size") is None


def test_hudis_rules_meet_the_plans_that_read_a_table(outer_spark: SparkSession, tmp_path: Path) -> None:
    """One of them projects the read of a partitioned table; ScanRuleTest.java has the other plans."""
    assert outer_spark.conf.get(EXTENSIONS) == LIGHT_EXTENSION
    (
        outer_spark.range(2)
        .selectExpr("id", "'n' AS p")
        .write.format("hudi")
        .option("hoodie.table.name", "light")
        .option("hoodie.datasource.write.recordkey.field", "id")
        .option("hoodie.datasource.write.partitionpath.field", "p")
        .option("hoodie.metadata.enable", "false")
        .option("hoodie.table.timeline.timezone", "UTC")  # this JVM writes other tables in UTC
        .save(str(tmp_path))
    )
    read = outer_spark.read.format("hudi").load(str(tmp_path)).where("id > 0").select("id")

    analyzed = read._jdf.queryExecution().analyzed().toString()  # noqa: SLF001  pyspark only prints it
    assert "+- Project [_hoodie_commit_time" in analyzed
    assert [row.id for row in read.collect()] == [1]


def test_hudi_asks_our_adapter_for_readers_and_shuffles(outer_spark: SparkSession) -> None:
    """BaseFileReaderTest.java and BucketShuffleTest.java compare them with Hudi's."""
    jvm = jvm_of(outer_spark)
    hudi, sql = jvm.org.apache.hudi, jvm.org.apache.spark.sql
    for package, name in ((hudi, "SparkAdapterSupport$"), (sql, "BucketPartitionUtils$")):
        adapter = getattr(getattr(package, name), "MODULE$").sparkAdapter()
        assert adapter.getClass().getName() == "io.hudicdc.ingest.hudi.TunedAdapter"


def test_tasks_share_the_serializer_of_their_jvm(outer_spark: SparkSession) -> None:
    """A shuffle's serializer reaches a task as bytes.  The session still names the one that Hudi demands."""
    jvm, conf = jvm_of(outer_spark), outer_spark.sparkContext.getConf()
    ours = jvm.org.apache.spark.SparkEnv.get().serializer()

    read_back = jvm.org.apache.commons.lang3.SerializationUtils.clone(ours)

    assert ours.getClass().getName() == "io.hudicdc.ingest.spark.SharedKryo"
    assert read_back.equals(ours)  # Java's: the same object
    assert conf.get("spark.serializer") == SERIALIZER


def test_closures_are_taken_as_they_are(outer_spark: SparkSession) -> None:
    """Spark reads a closure's class and serializes it.  One that cannot be fails with its stage."""
    context = outer_spark.sparkContext._jsc.sc()  # noqa: SLF001  pyspark has no public way there
    unserializable = jvm_of(outer_spark).java.lang.Object()

    assert context.clean(unserializable, True).equals(unserializable)  # noqa: FBT003  Java's: check it
