package io.hudicdc.ingest.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;

/** The requests that it saves are in tests/places/test_s3_listing.py. */
final class TimelineCacheTest {
    private static final Path FILE = new Path("s3a://b/t/1.commit");
    private static final byte[] BYTES = {1, 2, 3};

    private final TimelineCache cache = new TimelineCache();

    @Test
    void aFileIsKnownUntilItLooksDifferent() {
        cache.put(FILE, BYTES, status(3, 10));
        cache.compare(FILE, status(3, 10));
        assertArrayEquals(BYTES, cache.get(FILE));

        cache.compare(FILE, status(3, 11));
        assertNull(cache.get(FILE));

        cache.put(FILE, BYTES, status(3, 10));
        cache.compare(FILE, status(2, 10));
        assertNull(cache.get(FILE));
    }

    @Test
    void withoutAStatusTheFirstListingCounts() {
        cache.put(FILE, BYTES, null);
        cache.compare(FILE, status(3, 10));
        assertArrayEquals(BYTES, cache.get(FILE));

        cache.compare(FILE, status(3, 11));
        assertNull(cache.get(FILE));
    }

    @Test
    void theLeastRecentlyUsedLeave() {
        byte[] large = new byte[TimelineCache.LARGEST];
        for (int number = 0; number < 17; number++) {
            cache.put(new Path("s3a://b/t/" + number), large, null);
            assertNotNull(cache.get(new Path("s3a://b/t/0")));
        }
        assertNull(cache.get(new Path("s3a://b/t/1")));
        assertNotNull(cache.get(new Path("s3a://b/t/2")));
    }

    @Test
    void aFileThatIsReadAgainIsCountedOnce() {
        byte[] large = new byte[TimelineCache.LARGEST];
        cache.put(FILE, BYTES, null);
        for (int number = 0; number < 100; number++) {
            cache.put(new Path("s3a://b/t/large"), large, null);
        }
        assertArrayEquals(BYTES, cache.get(FILE));
    }

    private static FileStatus status(long size, long modified) {
        return new FileStatus(size, false, 1, 1, modified, FILE);
    }
}
