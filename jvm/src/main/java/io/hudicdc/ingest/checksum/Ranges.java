package io.hudicdc.ingest.checksum;

import org.apache.spark.sql.catalyst.util.ArrayData;

/** Ranges of whole numbers between bounds. */
public final class Ranges {
    private Ranges() {}

    /** Return the index of a number's range: as many as there are bounds up to the number, in ascending order. */
    public static int find(long number, ArrayData bounds) {
        int low = 0;
        int high = bounds.numElements();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (bounds.getLong(middle) <= number) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
}
