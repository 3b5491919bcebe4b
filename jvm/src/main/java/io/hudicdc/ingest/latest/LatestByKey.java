package io.hudicdc.ingest.latest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.hudicdc.ingest.spark.PlannedQuery;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.StorageLevel;
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
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Dataset<Row> rows;
    private final RowLayout layout;
    private final Column[] order;
    private final int grouped;

    private LatestByKey(Dataset<Row> rows, RowLayout layout, int grouped, int ordered) {
        this.rows = rows;
        this.layout = layout;
        this.grouped = grouped;
        order = Arrays.stream(rows.columns())
                .limit(grouped + ordered)
                .map(functions::col)
                .toArray(Column[]::new);
    }

    /**
     * Reduce rows that are all whole.
     *
     * <p>Evaluating the result again reads the files of the shuffle, not the source. Where Spark plans adaptively, the
     * shuffle runs before this returns.
     *
     * @param rows columns of the group, then columns of the order within it, then all others
     * @param grouped the number of columns of the group
     * @param ordered the number of columns of the order; two rows of a group with the same order are one event
     * @param counters bigint columns, and how to combine them, as JSON: {@code SUM}, {@code MAX} or {@code OR} (of bits)
     * @param tasks the least number of tasks after the shuffle; the session's setting may be more
     */
    public static Dataset<Row> of(Dataset<Row> rows, int grouped, int ordered, String counters, int tasks)
            throws JsonProcessingException {
        return new LatestByKey(rows, layout(rows, grouped, ordered, counters), grouped, ordered).reduceMany(tasks);
    }

    /**
     * Reduce few rows that are all whole, and {@link #sorted}: in one task, without a shuffle.
     *
     * <p>Nothing runs before the first evaluation, which keeps the result; later ones read it from there. The result
     * has one partition, so that an aggregate of it needs no shuffle either.
     */
    public static Dataset<Row> ofFew(Dataset<Row> rows, int grouped, int ordered, String counters)
            throws JsonProcessingException {
        return new LatestByKey(rows, layout(rows, grouped, ordered, counters), grouped, ordered).reduceFew();
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
            Dataset<Row> rows, int grouped, int ordered, int event, String counters, int tasks)
            throws JsonProcessingException {
        return new LatestByKey(rows, partialLayout(rows, grouped, ordered, event, counters), grouped, ordered)
                .reduceMany(tasks);
    }

    /** Sort few rows, in one partition, by their first columns: those of the group and of the order. */
    public static Dataset<Row> sorted(Dataset<Row> rows, int columns) {
        Column[] order =
                Arrays.stream(rows.columns()).limit(columns).map(functions::col).toArray(Column[]::new);
        return rows.sortWithinPartitions(order);
    }

    /** Reduce few rows of which some are partial: see {@link #ofFew} and {@link #withPartial}. */
    public static Dataset<Row> withPartialOfFew(Dataset<Row> rows, int grouped, int ordered, int event, String counters)
            throws JsonProcessingException {
        return new LatestByKey(rows, partialLayout(rows, grouped, ordered, event, counters), grouped, ordered)
                .reduceFew();
    }

    private static RowLayout layout(Dataset<Row> rows, int grouped, int ordered, String counters)
            throws JsonProcessingException {
        Map<String, String> combined = JSON.readValue(counters, new TypeReference<Map<String, String>>() {});
        return RowLayout.of(rows.schema(), grouped, ordered, combined);
    }

    private static RowLayout partialLayout(Dataset<Row> rows, int grouped, int ordered, int event, String counters)
            throws JsonProcessingException {
        return layout(rows, grouped, ordered, counters).withPartial(event);
    }

    private Dataset<Row> reduceMany(int tasks) {
        RowLayout layout = this.layout;
        Column[] group = Arrays.copyOf(order, grouped);
        Dataset<Row> fewer = toRows(mapRows(rows, messages -> new PartialCombiner(messages, layout)));
        boolean isMore = tasks > rows.sparkSession().sessionState().conf().numShufflePartitions();
        Dataset<Row> shuffled = isMore ? fewer.repartition(tasks, group) : fewer.repartition(group);
        return toRows(mapRows(shuffled.sortWithinPartitions(order), groups -> new SortedCombiner(groups, layout)));
    }

    private Dataset<Row> reduceFew() {
        RowLayout layout = this.layout;
        QueryExecution plan = rows.queryExecution();
        boolean isPlanned = plan.logical() instanceof LogicalRDD; // the result of a planned query
        RDD<InternalRow> sorted = isPlanned ? ((LogicalRDD) plan.logical()).rdd() : plan.toRdd();
        JavaRDD<InternalRow> newest = sorted.toJavaRDD()
                .mapPartitions(groups -> new SortedCombiner(groups, layout), true)
                .map(InternalRow::copy);
        // Spark's cleaner removes them with the last reference to the result, as it does with files of a shuffle.
        RDD<InternalRow> kept = newest.persist(StorageLevel.MEMORY_AND_DISK()).rdd();
        // Later tasks come without the plan that made the rows. An executor of a cluster may be lost with its rows.
        if (kept.sparkContext().isLocal()) {
            kept.localCheckpoint();
        }
        return PlannedQuery.inOnePartition(rows.sparkSession(), kept, rows.schema());
    }

    private Dataset<Row> toRows(JavaRDD<InternalRow> newest) {
        return rows.sparkSession().internalCreateDataFrame(newest.rdd(), rows.schema(), false);
    }

    /** Put a Java iterator over Spark's internal rows behind a plan, which Spark's UI and event log show. */
    private static JavaRDD<InternalRow> mapRows(
            Dataset<Row> rows, FlatMapFunction<Iterator<InternalRow>, InternalRow> function) {
        QueryExecution plan = rows.queryExecution();
        JavaRDD<InternalRow> input = SQLExecution.withNewExecutionId(
                plan, Option.empty(), () -> plan.toRdd().toJavaRDD());
        return input.mapPartitions(function, true);
    }
}
