package io.hudicdc.ingest.avro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** {@link PlainDecimal} at its limits; tests/jvm/test_plain_decimal.py compares it with Python's decimals. */
class PlainDecimalTest {
    private static final byte[] ONE = {1};

    private final PlainDecimal decimal = new PlainDecimal();

    @Test
    void numbersAreWrittenWithoutAnExponent() {
        assertEquals("123.45", decimal.call(2, BigInteger.valueOf(12_345).toByteArray()));
        assertEquals("12000", decimal.call(-3, BigInteger.valueOf(12).toByteArray()));
        assertEquals("-0.001", decimal.call(3, new byte[] {-1}));
        assertEquals("0.0000000001", decimal.call(10, ONE));
    }

    @Test
    void nothingIsMadeOfNothing() {
        assertNull(decimal.call(null, ONE));
        assertNull(decimal.call(1, null));
        assertNull(decimal.call(1, new byte[0])); // not a number
    }

    @Test
    void aHostileScaleOrLengthIsNull() {
        for (int scale :
                new int[] {1_000_000_000, -1_000_000_000, Integer.MAX_VALUE, Integer.MIN_VALUE, 16_384, -1_001}) {
            assertNull(decimal.call(scale, ONE), Integer.toString(scale));
        }
        assertNull(decimal.call(0, filled(61_231)));
        assertTrue(decimal.call(16_383, filled(1_000)).length() > 16_383);
    }

    private static byte[] filled(int size) {
        byte[] bytes = new byte[size];
        Arrays.fill(bytes, (byte) 0x7f);
        return bytes;
    }
}
