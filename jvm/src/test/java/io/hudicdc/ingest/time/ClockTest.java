package io.hudicdc.ingest.time;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link Clock} against decimal arithmetic, for every number that 64 bits hold. */
class ClockTest {
    private static final BigInteger SIXTY = BigInteger.valueOf(60);

    @Test
    void everyCountIsWrittenExactly() {
        Random random = new Random(1);
        for (int digits = 1; digits <= 9; digits++) {
            for (long count : new long[] {0, 1, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
                check(count, digits);
            }
            for (int round = 0; round < 2_000; round++) {
                check(random.nextLong() >> random.nextInt(Long.SIZE), digits);
            }
        }
    }

    private static void check(long count, int digits) {
        BigDecimal seconds = BigDecimal.valueOf(count, digits).abs();
        BigInteger[] minutes = seconds.toBigInteger().divideAndRemainder(SIXTY);
        BigInteger[] hours = minutes[0].divideAndRemainder(SIXTY);
        String fraction = seconds.remainder(BigDecimal.ONE).toPlainString().substring(2);
        String expected =
                String.format("%s%02d:%02d:%02d.%s", count < 0 ? "-" : "", hours[0], hours[1], minutes[1], fraction);
        assertEquals(expected, Clock.text(count, digits).toString());
    }
}
