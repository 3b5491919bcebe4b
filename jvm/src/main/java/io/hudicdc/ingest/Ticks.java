package io.hudicdc.ingest;

/**
 * Moments of SQL Server's {@code datetime2(7)}, which Debezium counts in nanoseconds since 1970-01-01 in 64 bits.
 *
 * <p>What does not fit, from 1677 back and from 2262 on, was wrapped without a sign by versions before 3.6.  The source
 * counts 100 ns and 2^64 mod 100 is 16, so a wrapped value betrays itself by not being a multiple of 100, and its last
 * two digits tell how many times 2^64 are lacking: k solves 16 k = -v (mod 100), which has one solution mod 25, and
 * the years 1 to 9999 need only k = -3 to 14.
 */
public final class Ticks {
    private static final long FIRST_MICROS = -62_135_596_800_000_000L;
    private static final long LAST_MICROS = 253_402_300_799_999_999L;
    private static final long WRAP_MICROS = 18_446_744_073_709_551L;
    private static final int WRAP_REST = 616;
    private static final int FEWEST_WRAPS = -10;
    private static final int MOST_WRAPS = 14;
    private static final int[] WRAPS = new int[MOST_WRAPS - FEWEST_WRAPS + 1];

    static {
        for (int wraps = FEWEST_WRAPS; wraps <= MOST_WRAPS; wraps++) {
            WRAPS[Math.floorMod(-16 * wraps, 100) / 4] = wraps;
        }
    }

    private Ticks() {}

    /** Return microseconds since 1970-01-01, towards the past; null for what no such column can hold. */
    public static Long micros(long nanos) {
        int rest = (int) Math.floorMod(nanos, 100L);
        if (rest % 4 != 0) {
            return null;
        }
        long wraps = WRAPS[rest / 4];
        long below = Math.floorMod(nanos, 1_000L) + wraps * WRAP_REST;
        long micros = Math.floorDiv(nanos, 1_000L) + wraps * WRAP_MICROS + Math.floorDiv(below, 1_000L);
        return micros < FIRST_MICROS || micros > LAST_MICROS ? null : (Long) micros;
    }
}
