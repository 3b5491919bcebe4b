"""What a context of ours spares its jobs changes no result: code kept, origins forgotten, rules passed by."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.artifacts import spark_jars
from ingest.java import hadoop_of, jvm_of
from ingest.spark.session import EXTENSION, EXTENSIONS, LIGHT_EXTENSION, launch_conf

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
    assert entries["fs.file.impl"] == "io.hudicdc.ingest.LocalFiles"
    assert entries == {key: sent.getRaw(key) for key in entries}
    assert sent.size() == ours.size() >= whole.size()
    assert list(whole.getPropertySources("io.file.buffer.size")) == ["core-default.xml"]
    assert ours.getPropertySources("io.file.buffer.size") is None


def test_only_a_local_jvm_with_our_functions_has_the_light_extension() -> None:
    """Elsewhere the class may be missing; the user's extensions stay in their order."""
    jars = [Path("lib/ingest-functions.jar")]

    assert launch_conf("local", {EXTENSIONS: "a.B"}, jars)[EXTENSIONS] == f"a.B,{LIGHT_EXTENSION}"
    assert (
        launch_conf("local", {EXTENSIONS: f"{EXTENSION},a.B"}, jars)[EXTENSIONS] == f"{LIGHT_EXTENSION},a.B"
    )
    assert launch_conf("local", {}, [])[EXTENSIONS] == EXTENSION
    assert launch_conf("spark://host:7077", {}, jars)[EXTENSIONS] == EXTENSION
    assert any("ingest-functions" in jar.name for jar in spark_jars())


def test_hudis_rules_meet_the_plans_that_they_concern(outer_spark: SparkSession, tmp_path: Path) -> None:
    """A read skips partitions and nested fields, a statement becomes Hudi's."""
    assert outer_spark.conf.get(EXTENSIONS) == LIGHT_EXTENSION
    rows = outer_spark.sql(
        "SELECT id, named_struct('a', 'x', 'b', 1) AS v, p FROM VALUES (1, 'm'), (2, 'n') t(id, p)"
    )
    (
        rows.write.format("hudi")
        .option("hoodie.table.name", "light")
        .option("hoodie.datasource.write.recordkey.field", "id")
        .option("hoodie.datasource.write.partitionpath.field", "p")
        .option("hoodie.metadata.enable", "false")
        .option("hoodie.table.timeline.timezone", "UTC")  # this JVM writes other tables in UTC
        .save(str(tmp_path))
    )
    outer_spark.sql(f"CREATE TABLE light USING hudi LOCATION '{tmp_path}'")
    try:
        read = outer_spark.sql("SELECT id, v.a FROM light WHERE p = 'n'")
        assert [tuple(row) for row in read.collect()] == [(2, "x")]
        plan = read._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001  pyspark only prints it
        assert "ReadSchema: struct<id:int,v:struct<a:string>>" in plan
        assert "PartitionFilters: [isnotnull(p" in plan

        merge = "MERGE INTO light USING light s ON light.id = s.id WHEN MATCHED THEN DELETE"
        assert "MergeIntoHoodieTableCommand" in outer_spark.sql(f"EXPLAIN {merge}").first()[0]
    finally:
        outer_spark.sql("DROP TABLE light")
