package io.hudicdc.ingest.latest;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.JavaConverters;

/** Where a row of {@link LatestByKey} has its group, order, counters and event. */
final class RowLayout implements Serializable {
    /** The columns {@code partial}, {@code base} and {@code later}, at the end of rows that may be partial. */
    private static final int PARTIAL_COLUMNS = 3;

    private static final int NEVER_PARTIAL = -1;
    private static final long serialVersionUID = 1L;

    private enum Count {
        SUM,
        MAX,
        OR;

        private long combine(long left, long right) {
            switch (this) {
                case SUM:
                    return left + right;
                case MAX:
                    return Math.max(left, right);
                default:
                    return left | right;
            }
        }
    }

    private final DataType[] types;
    private final int grouped;
    private final int sorted;
    private final int[] counters;
    private final Count[] counts;
    private final int eventEnd;
    private final int partial;

    private RowLayout(
            DataType[] types, int grouped, int sorted, int[] counters, Count[] counts, int eventEnd, int partial) {
        this.types = types;
        this.grouped = grouped;
        this.sorted = sorted;
        this.counters = counters;
        this.counts = counts;
        this.eventEnd = eventEnd;
        this.partial = partial;
    }

    /** Return the layout of rows that are never partial. */
    static RowLayout of(StructType schema, int grouped, int ordered, Map<String, String> counters) {
        DataType[] types =
                Arrays.stream(schema.fields()).map(StructField::dataType).toArray(DataType[]::new);
        int[] columns = counters.keySet().stream().mapToInt(schema::fieldIndex).toArray();
        Count[] counts = counters.values().stream().map(Count::valueOf).toArray(Count[]::new);
        return new RowLayout(types, grouped, grouped + ordered, columns, counts, grouped, NEVER_PARTIAL);
    }

    /** Return the same layout, of rows that may be partial. */
    RowLayout withPartial(int event) {
        int column = types.length - PARTIAL_COLUMNS;
        return new RowLayout(types, grouped, sorted, counters, counts, grouped + event, column);
    }

    /** Compare the groups of two rows. */
    BaseOrdering byGroup() {
        return ordering(grouped);
    }

    /** Compare two rows by group, then by order. */
    BaseOrdering byGroupAndOrder() {
        return ordering(sorted);
    }

    /** Project a row to its group. */
    UnsafeProjection group() {
        return UnsafeProjection.create(Arrays.copyOf(types, grouped));
    }

    /** Project a row to its event. */
    UnsafeProjection event() {
        return projection(IntStream.range(grouped, eventEnd));
    }

    /** Project a row, joined with {@code base} and {@code later}, to the row that has these two. */
    UnsafeProjection completed() {
        int width = types.length;
        return projection(IntStream.concat(IntStream.range(0, width - 2), IntStream.of(width, width + 1)));
    }

    boolean mayBePartial() {
        return partial != NEVER_PARTIAL;
    }

    boolean isPartial(UnsafeRow row) {
        return mayBePartial() && row.getBoolean(partial);
    }

    /** Add the counters of a dropped row to those of a row that stays. */
    void count(UnsafeRow dropped, UnsafeRow stays) {
        for (int i = 0; i < counters.length; i++) {
            int column = counters[i];
            if (!dropped.isNullAt(column)) {
                long count = dropped.getLong(column);
                stays.setLong(column, stays.isNullAt(column) ? count : counts[i].combine(count, stays.getLong(column)));
            }
        }
    }

    private BaseOrdering ordering(int columns) {
        List<DataType> ordered = List.of(Arrays.copyOf(types, columns));
        return RowOrdering.createNaturalAscendingOrdering(
                JavaConverters.asScalaBuffer(ordered).toList());
    }

    private UnsafeProjection projection(IntStream columns) {
        List<Expression> references = new ArrayList<>();
        columns.forEach(column -> references.add(new BoundReference(column, typeOf(column), true)));
        return UnsafeProjection.create(JavaConverters.asScalaBuffer(references).toList());
    }

    /** Return the type of a column; those after the last one are {@code base} and {@code later} once more. */
    private DataType typeOf(int column) {
        return types[column < types.length ? column : column - 2];
    }
}
