package io.hudicdc.ingest;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The last row of each group, of rows that lie group by group and in order. */
final class SortedCombiner implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final RowLayout layout;
    private final BaseOrdering byGroup;
    private UnsafeRow first;

    SortedCombiner(Iterator<InternalRow> rows, RowLayout layout) {
        this.rows = rows;
        this.layout = layout;
        byGroup = layout.byGroup();
        first = read();
    }

    /** Copy the next row, since Spark puts each in the place of the one before; null at the end. */
    private UnsafeRow read() {
        return rows.hasNext() ? ((UnsafeRow) rows.next()).copy() : null;
    }

    @Override
    public boolean hasNext() {
        return first != null;
    }

    @Override
    public InternalRow next() {
        if (first == null) {
            throw new NoSuchElementException();
        }
        UnsafeRow last = first;
        for (first = read(); first != null && byGroup.compare(last, first) == 0; first = read()) {
            layout.count(last, first);
            last = first;
        }
        return last;
    }
}
