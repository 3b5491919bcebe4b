package io.hudicdc.ingest;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Rows with those of a group folded that come soon after each other: what need not be shuffled.
 *
 * <p>A row is held until another group's takes its slot, in memory of a fixed size.  A few keys with many changes
 * become a few rows, and all tombstones one.  Where hardly any two rows meet, as in a snapshot, holding them is given
 * up: copies cost up to a tenth of a run, and what is held loses the order that it came in.
 */
final class PartialCombiner implements Iterator<InternalRow> {
    private static final int SLOTS = 1 << 12;
    private static final long MOST_BYTES = 16L << 20;
    /** Rows after which it can be given up, and of how many at least one has to have met another. */
    private static final int TRIAL = 2 * SLOTS;

    private static final int WORTH = 10;

    private final Iterator<InternalRow> rows;
    private final RowLayout layout;
    private final UnsafeProjection group;
    private final BaseOrdering byGroup;
    private final BaseOrdering byGroupAndOrder;
    private final UnsafeRow[] slots = new UnsafeRow[SLOTS];
    private long bytes;
    private long taken;
    private long folded;
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
            next = take((UnsafeRow) rows.next());
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

    /** LatestByKey a row into the one of its group that is held, or hold it; return what has to go on for it. */
    private UnsafeRow take(UnsafeRow row) {
        if (taken >= TRIAL && folded * WORTH < taken) {
            return row;
        }
        taken++;
        int slot = group.apply(row).hashCode() & (SLOTS - 1);
        UnsafeRow held = slots[slot];
        boolean same = held != null && byGroup.compare(held, row) == 0;
        if (same && byGroupAndOrder.compare(held, row) >= 0) {
            layout.count(row, held);
            folded++;
            return null;
        }
        long more = row.getSizeInBytes() - (held == null ? 0 : held.getSizeInBytes());
        if (!same && bytes + more > MOST_BYTES) {
            return row;
        }
        UnsafeRow copy = row.copy();
        slots[slot] = copy;
        bytes += more;
        if (same) {
            layout.count(held, copy);
            folded++;
            return null;
        }
        return held;
    }
}
