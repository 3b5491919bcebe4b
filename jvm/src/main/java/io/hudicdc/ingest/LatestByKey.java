package io.hudicdc.ingest;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.functions;
import scala.Option;

/**
 * The newest row of each group, which holds what all rows of the group count.
 *
 * <p>What {@code group by … max_by(row, place)} says, at about half its price: Spark sorts twice for it, before
 * the shuffle and behind it, and copies each row into a buffer and out of it, both times.
 */
public final class LatestByKey {
    private LatestByKey() {}

    /**
     * LatestByKey rows.  What comes of it reads the shuffle's files whenever it is evaluated, and nothing from before them.
     * The shuffle itself runs at once, where Spark plans adaptively.
     *
     * @param rows columns that say the group, then those that say the order within it, then all others
     * @param grouped how many columns say the group
     * @param ordered how many say the order; two rows of a group with the same order are one of them
     * @param counters bigint columns and how they are counted: {@code SUM}, {@code MAX} or {@code OR} (of bits)
     */
    public static Dataset<Row> of(Dataset<Row> rows, int grouped, int ordered, Map<String, String> counters) {
        RowLayout layout = RowLayout.of(rows.schema(), grouped, ordered, counters);
        Column[] order = Arrays.stream(rows.columns())
                .limit(grouped + ordered)
                .map(functions::col)
                .toArray(Column[]::new);
        Dataset<Row> fewer = each(rows, messages -> new PartialCombiner(messages, layout));
        Dataset<Row> sorted = fewer.repartition(Arrays.copyOf(order, grouped)).sortWithinPartitions(order);
        return each(sorted, groups -> new SortedCombiner(groups, layout));
    }

    /** Put a Java iterator over Spark's own rows behind a plan, which Spark's pages and event log show. */
    private static Dataset<Row> each(Dataset<Row> rows, FlatMapFunction<Iterator<InternalRow>, InternalRow> to) {
        QueryExecution plan = rows.queryExecution();
        JavaRDD<InternalRow> given = SQLExecution.withNewExecutionId(
                plan, Option.empty(), () -> plan.toRdd().toJavaRDD());
        return rows.sparkSession()
                .internalCreateDataFrame(given.mapPartitions(to, true).rdd(), rows.schema(), false);
    }
}
