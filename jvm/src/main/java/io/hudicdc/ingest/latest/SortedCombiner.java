package io.hudicdc.ingest.latest;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/**
 * The last row of each group, from rows sorted by group and order; with the partial rows that it needs.
 *
 * <p>What only partial rows need is made for the first of them: it costs a small batch more than the batch.
 */
final class SortedCombiner implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final RowLayout layout;
    private final BaseOrdering byGroup;
    private BaseOrdering byGroupAndOrder;
    private UnsafeProjection event;
    private UnsafeProjection completed;
    private UnsafeRow next;

    SortedCombiner(Iterator<InternalRow> rows, RowLayout layout) {
        this.rows = rows;
        this.layout = layout;
        byGroup = layout.byGroup();
        next = read();
    }

    /** Copy the next row, since Spark reuses its memory for the one after; null at the end. */
    private UnsafeRow read() {
        return rows.hasNext() ? ((UnsafeRow) rows.next()).copy() : null;
    }

    @Override
    public boolean hasNext() {
        return next != null;
    }

    @Override
    public InternalRow next() {
        if (next == null) {
            throw new NoSuchElementException();
        }
        UnsafeRow base = null;
        UnsafeRow last = next;
        List<UnsafeRow> later = List.of();
        for (UnsafeRow row = next; row != null && byGroup.compare(last, row) == 0; row = next) {
            boolean isPartial = layout.isPartial(row);
            if (isPartial && completed == null) {
                preparePartial();
            }
            UnsafeRow dropped = last;
            if (isPartial && base != null && byGroupAndOrder.compare(base, row) == 0) {
                dropped = row; // the same event: its whole row counts
            } else if (isPartial) {
                later = later.isEmpty() ? new ArrayList<>() : later;
                later.add(event.apply(row).copy());
                last = row;
            } else {
                later = List.of();
                base = row;
                last = row;
            }
            if (dropped != last) {
                layout.count(dropped, last);
            }
            next = read();
        }
        return later.isEmpty() ? last : complete(last, base, later);
    }

    private void preparePartial() {
        byGroupAndOrder = layout.byGroupAndOrder();
        event = layout.event();
        completed = layout.completed();
    }

    private InternalRow complete(UnsafeRow last, UnsafeRow base, List<UnsafeRow> later) {
        Object baseEvent = base == null ? null : event.apply(base);
        Object[] added = {baseEvent, new GenericArrayData(later.toArray())};
        return completed.apply(new JoinedRow(last, new GenericInternalRow(added)));
    }
}
