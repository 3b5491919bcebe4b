package io.hudicdc.ingest.time;

/**
 * Timestamps of SQL Server's {@code datetime2(7)}, which Debezium counts in 64 bits as nanoseconds since 1970-01-01.
 *
 * <p>Versions before 3.6 silently wrap values before 1677 and after 2262 (debezium/dbz#2075). The source counts 100 ns,
 * and 2^64 mod 100 is 16: a wrapped value is not a multiple of 100, and its last two digits give the number k of wraps. k
 * solves 16 k = -v (mod 100), which has one solution mod 25; the years 1 to 9999 need only k = -3 to 14.
 */
public final class Ticks {
    private static final long FIRST_MICROS = -62_135_596_800_000_000L;
    private static final long LAST_MICROS = 253_402_300_799_999_999L;
    private static final long WRAP_MICROS = 18_446_744_073_709_551L;
    private static final int WRAP_REST = 616;
    private static final int MIN_WRAPS = -10;
    private static final int MAX_WRAPS = 14;
    private static final int[] WRAPS = new int[MAX_WRAPS - MIN_WRAPS + 1];

    static {
        for (int wraps = MIN_WRAPS; wraps <= MAX_WRAPS; wraps++) {
            WRAPS[Math.floorMod(-16 * wraps, 100) / 4] = wraps;
        }
    }

    private Ticks() {}

    /** Return microseconds since 1970-01-01, rounded down; null for values outside the years of the type. */
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
