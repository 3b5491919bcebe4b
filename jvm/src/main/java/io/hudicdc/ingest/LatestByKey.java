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
 * Reduces rows to the newest row of each group, with the counters of all its rows and the partial rows after its newest
 * whole one.
 *
 * <p>{@code group by … max_by(row, sort_key)} computes the same at about twice the price: Spark sorts twice, before and
 * after the shuffle, and copies each row into a buffer and out of it both times. {@code collect_list} for the partial
 * rows holds all of them at once and sorts each group again.
 */
public final class LatestByKey {
    private LatestByKey() {}

    /**
     * Reduce rows that are all whole.
     *
     * <p>Evaluating the result again reads the files of the shuffle, not the source. Where Spark plans adaptively, the
     * shuffle runs before this returns.
     *
     * @param rows columns of the group, then columns of the order within it, then all others
     * @param grouped the number of columns of the group
     * @param ordered the number of columns of the order; two rows of a group with the same order are one event
     * @param counters bigint columns, and how to combine them: {@code SUM}, {@code MAX} or {@code OR} (of bits)
     */
    public static Dataset<Row> of(Dataset<Row> rows, int grouped, int ordered, Map<String, String> counters) {
        return reduce(rows, RowLayout.of(rows.schema(), grouped, ordered, counters), grouped + ordered, grouped);
    }

    /**
     * Reduce rows of which some are partial: they lack values that an older row of their group has.
     *
     * <p>The last three columns of {@code rows} are {@code partial} (boolean), {@code base} (struct of the event columns)
     * and {@code later} (array of such structs), the latter two null. Where a group ends with partial rows, {@code later}
     * of the result holds them in order, and {@code base} the newest whole row before them, or null if there is no such
     * row.
     *
     * @param event the number of event columns, which follow those of the group and begin with those of the order
     */
    public static Dataset<Row> withPartial(
            Dataset<Row> rows, int grouped, int ordered, int event, Map<String, String> counters) {
        RowLayout layout =
                RowLayout.of(rows.schema(), grouped, ordered, counters).withPartial(event);
        return reduce(rows, layout, grouped + ordered, grouped);
    }

    private static Dataset<Row> reduce(Dataset<Row> rows, RowLayout layout, int sorted, int grouped) {
        Column[] order =
                Arrays.stream(rows.columns()).limit(sorted).map(functions::col).toArray(Column[]::new);
        Dataset<Row> fewer = each(rows, messages -> new PartialCombiner(messages, layout));
        Dataset<Row> shuffled = fewer.repartition(Arrays.copyOf(order, grouped)).sortWithinPartitions(order);
        return each(shuffled, groups -> new SortedCombiner(groups, layout));
    }

    /** Put a Java iterator over Spark's internal rows behind a plan, which Spark's UI and event log show. */
    private static Dataset<Row> each(Dataset<Row> rows, FlatMapFunction<Iterator<InternalRow>, InternalRow> function) {
        QueryExecution plan = rows.queryExecution();
        JavaRDD<InternalRow> input = SQLExecution.withNewExecutionId(
                plan, Option.empty(), () -> plan.toRdd().toJavaRDD());
        return rows.sparkSession()
                .internalCreateDataFrame(input.mapPartitions(function, true).rdd(), rows.schema(), false);
    }
}
