package io.hudicdc.ingest;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.JavaConverters;

/** Where in a row of {@link LatestByKey} its group, its place in the order and its counters are. */
final class RowLayout implements Serializable {
    private static final long serialVersionUID = 1L;

    private enum Count {
        SUM,
        MAX,
        OR;

        private long of(long one, long other) {
            switch (this) {
                case SUM:
                    return one + other;
                case MAX:
                    return Math.max(one, other);
                default:
                    return one | other;
            }
        }
    }

    private final ArrayList<DataType> group;
    private final ArrayList<DataType> groupAndOrder;
    private final int[] places;
    private final Count[] counts;

    private RowLayout(List<DataType> group, List<DataType> groupAndOrder, int[] places, Count[] counts) {
        this.group = new ArrayList<>(group);
        this.groupAndOrder = new ArrayList<>(groupAndOrder);
        this.places = places;
        this.counts = counts;
    }

    static RowLayout of(StructType schema, int grouped, int ordered, Map<String, String> counters) {
        List<DataType> types = new ArrayList<>();
        for (int at = 0; at < grouped + ordered; at++) {
            types.add(schema.fields()[at].dataType());
        }
        int[] places = counters.keySet().stream().mapToInt(schema::fieldIndex).toArray();
        Count[] counts = counters.values().stream().map(Count::valueOf).toArray(Count[]::new);
        return new RowLayout(types.subList(0, grouped), types, places, counts);
    }

    /** Compare the groups of two rows. */
    BaseOrdering byGroup() {
        return ordering(group);
    }

    /** Compare two rows by group, and then by their place in the order. */
    BaseOrdering byGroupAndOrder() {
        return ordering(groupAndOrder);
    }

    /** Give what says the group, as a row of its own. */
    UnsafeProjection group() {
        return UnsafeProjection.create(group.toArray(DataType[]::new));
    }

    private static BaseOrdering ordering(List<DataType> types) {
        return RowOrdering.createNaturalAscendingOrdering(
                JavaConverters.asScalaBuffer(types).toList());
    }

    /** Add what one row counts to another, which stays. */
    void count(UnsafeRow gone, UnsafeRow stays) {
        for (int i = 0; i < places.length; i++) {
            int at = places[i];
            if (!gone.isNullAt(at)) {
                long one = gone.getLong(at);
                stays.setLong(at, stays.isNullAt(at) ? one : counts[i].of(one, stays.getLong(at)));
            }
        }
    }
}
