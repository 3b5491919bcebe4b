package io.hudicdc.ingest.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** {@link LargeRecord}: the bytes that {@code ingest.decode.large} looks for. */
class LargeRecordTest {
    @Test
    void theMarkHoldsTheSizeBehindAByteThatIsNotUtf8() {
        byte[] expected = "\u00ffingest: too large: 70000000000".getBytes(StandardCharsets.ISO_8859_1);
        assertArrayEquals(expected, LargeRecord.marked(70_000_000_000L));
    }

    @Test
    void onlyAWholeMarkStandsForARecord() {
        byte[] marked = LargeRecord.marked(1);
        assertTrue(LargeRecord.isMarked(marked));
        assertFalse(LargeRecord.isMarked(Arrays.copyOf(marked, marked.length - 1))); // without a size
        assertFalse(LargeRecord.isMarked(new byte[0]));
        assertFalse(LargeRecord.isMarked(" ingest: too large: 1".getBytes(StandardCharsets.US_ASCII)));
    }
}
