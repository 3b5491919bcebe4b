package io.hudicdc.ingest.hudi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hudi.index.bucket.BucketIdentifier;
import org.apache.hudi.index.bucket.partition.NumBucketsFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.BucketPartitionUtils$;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.LogicalRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class BucketShuffleTest {
    private static final String KEY = "k";
    private static final int RECORD_KEY = 2;
    private static final int PATH = 3;
    private static SparkSession spark;

    /** With so few rows in memory that a task with several buckets sorts on disk. */
    @BeforeAll
    static void start() {
        spark = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", "false")
                .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .config("spark.shuffle.sort.bypassMergeThreshold", "8")
                .config("spark.shuffle.spill.numElementsForceSpillThreshold", "300")
                .getOrCreate();
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "4, 1, 4", "4, 1, 8", "7, 1, 3", "8, 5, 2", "3, 4, 16", "64, 1, 64"})
    void tasksGetTheRowsOfHudisShuffleOneBucketAfterTheOther(int buckets, int paths, int tasks) {
        Dataset<Row> rows = rows(paths);
        RDD<InternalRow> hudis = hudis(rows, buckets, tasks);
        RDD<InternalRow> ours = BucketShuffle.of(hudis, rows.schema());
        assertNotSame(hudis, ours);
        List<List<UnsafeRow>> expected = perTask(hudis);
        List<List<UnsafeRow>> found = perTask(ours);
        assertEquals(expected.size(), found.size());
        for (int task = 0; task < expected.size(); task++) {
            assertEquals(sorted(expected.get(task)), sorted(found.get(task)));
            assertOneAfterTheOther(found.get(task), buckets);
        }
    }

    @Test
    void emptyTablesHaveNoRows() {
        Dataset<Row> none = rows(1).where("false");
        assertEquals(List.of(List.of(), List.of()), perTask(BucketShuffle.of(hudis(none, 2, 2), none.schema())));
    }

    @Test
    void otherRowsStayAsTheyAre() {
        Dataset<Row> rows = rows(1);
        RDD<InternalRow> plain = rows.queryExecution().toRdd();
        assertSame(plain, BucketShuffle.of(plain, rows.schema()));
        RDD<InternalRow> shuffled = plain.toJavaRDD()
                .mapToPair(row -> new scala.Tuple2<>(row.getString(RECORD_KEY), row.copy()))
                .partitionBy(new org.apache.spark.HashPartitioner(2))
                .values()
                .rdd();
        assertSame(shuffled, BucketShuffle.of(shuffled, rows.schema()));
    }

    /** Rows of a prepared {@code bulk_insert}, short and long, with nulls. */
    private static Dataset<Row> rows(int paths) {
        return spark.range(0, 4000, 1, 3)
                .selectExpr(
                        "'' as _hoodie_commit_time",
                        "'' as _hoodie_commit_seqno",
                        "cast(id as string) as _hoodie_record_key",
                        (paths == 1 ? "''" : "concat('p=', id % " + paths + ")") + " as _hoodie_partition_path",
                        "'' as _hoodie_file_name",
                        "id as " + KEY,
                        "if(id % 3 = 0, null, repeat('x', cast(pow(id % 20, 3) as int))) as text");
    }

    /** What Hudi gives to its adapter. */
    private static RDD<InternalRow> hudis(Dataset<Row> rows, int buckets, int tasks) {
        NumBucketsFunction number = new NumBucketsFunction(buckets);
        BucketPartitionUtils$ utils = BucketPartitionUtils$.MODULE$;
        Dataset<Row> frame = utils.createDataFrame(rows, KEY, number, utils.getLocalePartitioner(number, tasks));
        return ((LogicalRDD) frame.queryExecution().logical()).rdd();
    }

    private static List<List<UnsafeRow>> perTask(RDD<InternalRow> rows) {
        return rows.toJavaRDD().map(row -> ((UnsafeRow) row).copy()).glom().collect();
    }

    private static List<String> sorted(List<UnsafeRow> rows) {
        List<String> texts = new ArrayList<>();
        rows.forEach(row -> texts.add(row.toString()));
        Collections.sort(texts);
        return texts;
    }

    private static void assertOneAfterTheOther(List<UnsafeRow> rows, int buckets) {
        Set<String> ended = new HashSet<>();
        String last = "";
        for (UnsafeRow row : rows) {
            int bucket = BucketIdentifier.getBucketId(row.getString(RECORD_KEY), KEY, buckets);
            String group = row.getString(PATH) + "/" + bucket;
            if (!group.equals(last)) {
                ended.add(last);
            }
            assertFalse(ended.contains(group), group + " comes twice");
            last = group;
        }
    }
}
