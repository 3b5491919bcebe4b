package io.hudicdc.ingest.position;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link PaddedText} against Spark's {@code lpad}. */
class PaddedTextTest {
    private static final UTF8String ZERO = UTF8String.fromString("0");
    private static final String LETTERS = "0019aF: é€";
    private static final int[] WIDTHS = {1, 2, 9, 19, 20, 80};

    @Test
    void numbersOfAnySizeAreFilledAsByLpad() {
        Random random = new Random(1);
        for (int width : WIDTHS) {
            for (long number : new long[] {0, 1, 9, 10, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
                check(number, width);
            }
            for (int round = 0; round < 5_000; round++) {
                check(random.nextLong() >> random.nextInt(Long.SIZE), width);
            }
        }
    }

    @Test
    void anyTextIsFilledAsByLpad() {
        Random random = new Random(1);
        for (int width : WIDTHS) {
            for (int round = 0; round < 5_000; round++) {
                UTF8String text = text(random, random.nextInt(25));
                assertEquals(text.lpad(width, ZERO), PaddedText.ofText(text, width));
            }
        }
    }

    @Test
    void aNumberHasDigitsOnly() {
        Random random = new Random(1);
        for (int round = 0; round < 5_000; round++) {
            UTF8String text = text(random, random.nextInt(4));
            assertEquals(text.toString().matches("[0-9]{1,2}"), PaddedText.isNumber(text, 2));
            assertEquals(text.toString().matches("[0-9a-f]{1,2}"), PaddedText.isHex(text, 2));
        }
    }

    private static void check(long number, int width) {
        UTF8String plain = UTF8String.fromString(Long.toString(number));
        assertEquals(plain.lpad(width, ZERO), PaddedText.ofNumber(number, width));
    }

    private static UTF8String text(Random random, int length) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) {
            text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return UTF8String.fromString(text.toString());
    }
}
