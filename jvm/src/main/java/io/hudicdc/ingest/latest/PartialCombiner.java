package io.hudicdc.ingest.latest;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Combines rows of a group that follow each other closely, so that fewer rows are shuffled.
 *
 * <p>A row waits in a slot, in memory of a fixed size, until a row of another group takes the slot. A few keys with many
 * changes become a few rows, and all tombstones one row. A whole row replaces all older rows of its group; a partial row
 * replaces none. Combining stops where few rows meet, as in a snapshot: copies cost up to a tenth of a run, and rows
 * lose the order in which they came.
 */
final class PartialCombiner implements Iterator<InternalRow> {
    static final int SLOTS = 1 << 12;
    static final long MAX_BYTES = 16L << 20;
    /** Combining stops after this number of rows if fewer than one in {@link #MIN_COMBINED} was combined. */
    static final int TRIAL = 2 * SLOTS;

    private static final int MIN_COMBINED = 10;

    private final Iterator<InternalRow> rows;
    private final RowLayout layout;
    private final UnsafeProjection group;
    private final BaseOrdering byGroup;
    private final BaseOrdering byGroupAndOrder;
    private final UnsafeRow[] slots = new UnsafeRow[SLOTS];
    private long bytes;
    private long examined;
    private long combined;
    private int drained;
    private UnsafeRow next;

    PartialCombiner(Iterator<InternalRow> rows, RowLayout layout) {
        this.rows = rows;
        this.layout = layout;
        group = layout.group();
        byGroup = layout.byGroup();
        byGroupAndOrder = layout.byGroupAndOrder();
    }

    @Override
    public boolean hasNext() {
        while (next == null && rows.hasNext()) {
            next = combine((UnsafeRow) rows.next());
        }
        while (next == null && drained < SLOTS) {
            next = slots[drained++];
        }
        return next != null;
    }

    @Override
    public InternalRow next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        UnsafeRow row = next;
        next = null;
        return row;
    }

    /** Combine a row with the one in its slot, or put it there; return the row to pass on, if any. */
    private UnsafeRow combine(UnsafeRow row) {
        if (examined >= TRIAL && combined * MIN_COMBINED < examined) {
            return row;
        }
        examined++;
        int slot = group.apply(row).hashCode() & (SLOTS - 1);
        UnsafeRow waiting = slots[slot];
        if (waiting == null || byGroup.compare(waiting, row) != 0) {
            return put(slot, row);
        }
        boolean isOlder = byGroupAndOrder.compare(waiting, row) >= 0;
        if (layout.isPartial(isOlder ? waiting : row)) {
            return isOlder ? row : put(slot, row);
        }
        combined++;
        if (isOlder) {
            layout.count(row, waiting);
            return null;
        }
        UnsafeRow copy = row.copy();
        layout.count(waiting, copy);
        bytes += size(copy) - size(waiting);
        slots[slot] = copy;
        return null;
    }

    /** Let a row wait in a slot, if memory allows; return the row to pass on. */
    private UnsafeRow put(int slot, UnsafeRow row) {
        UnsafeRow waiting = slots[slot];
        long growth = size(row) - size(waiting);
        if (bytes + growth > MAX_BYTES) {
            return row;
        }
        bytes += growth;
        slots[slot] = row.copy();
        return waiting;
    }

    private static long size(UnsafeRow row) {
        return row == null ? 0 : row.getSizeInBytes();
    }
}
