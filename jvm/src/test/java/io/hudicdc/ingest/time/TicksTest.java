package io.hudicdc.ingest.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.math.BigInteger;
import java.time.Instant;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link Ticks} against arithmetic without a limit. */
class TicksTest {
    private static final long FIRST = Instant.parse("0001-01-01T00:00:00Z").getEpochSecond() * 10_000_000;
    private static final long LAST = Instant.parse("9999-12-31T23:59:59Z").getEpochSecond() * 10_000_000 + 9_999_999;
    private static final BigInteger HUNDRED = BigInteger.valueOf(100);

    @Test
    void everyMomentComesBackFromItsLow64Bits() {
        for (long tick : new long[] {FIRST, LAST, 0, -1, 1}) {
            check(tick);
        }
        BigInteger wrap = BigInteger.ONE.shiftLeft(63).divide(HUNDRED);
        for (int wraps = -8; wraps <= 27; wraps++) { // halves of a wrap: where it begins
            long border = wrap.multiply(BigInteger.valueOf(wraps)).longValueExact();
            for (int step = -1; step <= 1; step++) {
                check(border + step);
            }
        }
        Random random = new Random(1);
        for (int round = 0; round < 10_000; round++) {
            check(FIRST + Math.floorMod(random.nextLong(), LAST - FIRST + 1));
        }
    }

    @Test
    void aNumberThatNoMomentWrapsToGivesNull() {
        for (long nanos : new long[] {1, 2, 3, 50, -2, 99, Long.MAX_VALUE}) {
            assertNull(Ticks.micros(nanos), Long.toString(nanos));
        }
    }

    @Test
    void wrapsOutsideTheYearsOfTheTypeGiveNull() {
        assertNull(Ticks.micros(nanosOf(FIRST - 1).longValue()));
        assertNull(Ticks.micros(nanosOf(LAST + 1).longValue()));
    }

    private static void check(long tick) {
        if (tick >= FIRST && tick <= LAST) {
            assertEquals(Math.floorDiv(tick, 10L), Ticks.micros(nanosOf(tick).longValue()), Long.toString(tick));
        }
    }

    private static BigInteger nanosOf(long tick) {
        return BigInteger.valueOf(tick).multiply(HUNDRED);
    }
}
