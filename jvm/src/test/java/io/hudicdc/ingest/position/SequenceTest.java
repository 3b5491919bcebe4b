package io.hudicdc.ingest.position;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.math.BigInteger;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link Sequence} against a pattern. */
class SequenceTest {
    private static final String ITEM = " *(?:null|\"(\\d{1,19})\"|(\\d{1,19})) *";
    private static final Pattern PATTERN = Pattern.compile("\\[" + ITEM + "," + ITEM + "\\]");
    private static final List<String> TEXTS = List.of(
            "[\"24023119\",\"24023128\"]",
            "[null,\"24023128\"]",
            "[ null, 7 ]",
            "[null,null]",
            "[\"9223372036854775807\",\"9223372036854775808\"]");
    private static final String LETTERS = "[]\" ,019-+null\n";

    @Test
    void aSequenceOfDebeziumHasTwoNumbers() {
        UTF8String both = UTF8String.fromString("[\"24023119\",\"24023128\"]");
        assertEquals(24_023_119L, Sequence.first(both));
        assertEquals(24_023_128L, Sequence.last(both));
        UTF8String one = UTF8String.fromString("[null,\"" + Long.MAX_VALUE + "\"]");
        assertNull(Sequence.first(one));
        assertEquals(Long.MAX_VALUE, Sequence.last(one));
        assertEquals(-1L, Sequence.last(UTF8String.fromString("[null,\"9223372036854775808\"]")));
    }

    @Test
    void aSequenceWithLettersChangedIsReadByThePattern() {
        Random random = new Random(1);
        for (int round = 0; round < 200_000; round++) {
            StringBuilder letters = new StringBuilder(TEXTS.get(random.nextInt(TEXTS.size())));
            for (int change = random.nextInt(3); change > 0; change--) {
                int at = random.nextInt(letters.length());
                int length = random.nextInt(2);
                letters.replace(
                        at,
                        at + length,
                        LETTERS.substring(random.nextInt(LETTERS.length())).substring(0, 1));
            }
            check(letters.toString());
        }
    }

    private static void check(String text) {
        Matcher found = PATTERN.matcher(text);
        boolean isSequence = found.matches() && fits(number(found, 1)) && fits(number(found, 3));
        UTF8String sequence = UTF8String.fromString(text);
        assertEquals(isSequence ? asLong(number(found, 1)) : Long.valueOf(-1), Sequence.first(sequence), text);
        assertEquals(isSequence ? asLong(number(found, 3)) : Long.valueOf(-1), Sequence.last(sequence), text);
    }

    private static BigInteger number(Matcher found, int group) {
        String quoted = found.group(group);
        String digits = quoted == null ? found.group(group + 1) : quoted;
        return digits == null ? null : new BigInteger(digits);
    }

    private static Long asLong(BigInteger number) {
        return number == null ? null : (Long) number.longValueExact();
    }

    private static boolean fits(BigInteger number) {
        return number == null || number.bitLength() < Long.SIZE;
    }
}
