package io.hudicdc.ingest.latest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** {@link PartialCombiner} at its limits of memory and time, which no result of a query shows. */
class PartialCombinerTest {
    private static final StructType EVENT =
            new StructType().add("sort_key", DataTypes.LongType).add("payload", DataTypes.BinaryType);
    private static final StructType SCHEMA = new StructType()
            .add("key", DataTypes.LongType)
            .add("sort_key", DataTypes.LongType)
            .add("payload", DataTypes.BinaryType)
            .add("messages", DataTypes.LongType)
            .add("partial", DataTypes.BooleanType)
            .add("base", EVENT)
            .add("later", DataTypes.createArrayType(EVENT));
    private static final RowLayout LAYOUT =
            RowLayout.of(SCHEMA, 1, 1, Map.of("messages", "SUM")).withPartial(2);

    private final UnsafeProjection unsafe = UnsafeProjection.create(SCHEMA);
    private final List<InternalRow> input = new ArrayList<>();
    private int read;

    @Test
    void aGroupThatComesAgainBecomesOneRow() {
        for (int i = 0; i < 1_000; i++) {
            add(i % 3, i, 10, false);
        }
        List<InternalRow> rows = drain(new PartialCombiner(reading(), LAYOUT));
        assertEquals(3, rows.size());
        assertEquals(1_000, rows.stream().mapToLong(row -> row.getLong(3)).sum());
        assertTrue(rows.stream().allMatch(row -> row.getLong(1) >= 997));
    }

    @Test
    void aNewerPartialRowReplacesNothing() {
        add(1, 1, 10, false);
        add(1, 2, 10, true);
        add(1, 3, 10, true);
        assertEquals(3, drain(new PartialCombiner(reading(), LAYOUT)).size());
    }

    @Test
    void aNewerWholeRowReplacesPartialRows() {
        add(1, 1, 10, true);
        add(1, 2, 10, false);
        add(1, 1, 10, true);
        List<InternalRow> rows = drain(new PartialCombiner(reading(), LAYOUT));
        assertEquals(1, rows.size());
        assertEquals(2, rows.get(0).getLong(1));
        assertEquals(3, rows.get(0).getLong(3));
    }

    @Test
    void rowsArePassedOnOnceTheirMemoryIsFull() {
        int size = 1 << 20;
        int count = (int) (PartialCombiner.MAX_BYTES / size) * 2;
        for (int i = 0; i < count; i++) {
            add(i, i, size, false);
        }
        PartialCombiner combiner = new PartialCombiner(reading(), LAYOUT);
        combiner.next();
        assertTrue(read <= PartialCombiner.MAX_BYTES / size + 1, "read ahead " + read);
        assertEquals(count - 1, drain(combiner).size());
    }

    @Test
    void combiningStopsWhereRowsDoNotMeet() {
        for (int i = 0; i < PartialCombiner.TRIAL; i++) {
            add(i, i, 0, false);
        }
        for (int i = 0; i < 100; i++) {
            add(-1, i, 0, false);
        }
        assertEquals(
                PartialCombiner.TRIAL + 100,
                drain(new PartialCombiner(reading(), LAYOUT)).size());
    }

    private void add(long key, long sortKey, int size, boolean partial) {
        Object[] values = {key, sortKey, new byte[size], 1L, partial, null, null};
        input.add(unsafe.apply(new GenericInternalRow(values)).copy());
    }

    private Iterator<InternalRow> reading() {
        return input.stream().peek(row -> read++).iterator();
    }

    private static List<InternalRow> drain(Iterator<InternalRow> rows) {
        List<InternalRow> list = new ArrayList<>();
        rows.forEachRemaining(list::add);
        return list;
    }
}
