package io.hudicdc.ingest.position;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Map;
import java.util.Random;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link Sequence} against Spark's string functions. */
class SequenceTest {
    private static final UTF8String COMMA = UTF8String.fromString(",");
    private static final Map<String, String> DROPPED = Map.of("[", "\0", "]", "\0", "\"", "\0", " ", "\0");
    private static final String LETTERS = "[]\" ,,0123456789--+.\t\né";

    @Test
    void aSequenceOfDebeziumHasTwoNumbers() {
        UTF8String both = UTF8String.fromString("[\"24023119\",\"24023128\"]");
        assertEquals(24_023_119L, Sequence.first(both));
        assertEquals(24_023_128L, Sequence.last(both));
        UTF8String one = UTF8String.fromString("[null,\"" + Long.MAX_VALUE + "\"]");
        assertNull(Sequence.first(one));
        assertEquals(Long.MAX_VALUE, Sequence.last(one));
        assertNull(Sequence.last(UTF8String.fromString("[null,\"9223372036854775808\"]")));
    }

    @Test
    void anyTextHasTheNumbersThatSparkFinds() {
        Random random = new Random(1);
        for (int round = 0; round < 200_000; round++) {
            StringBuilder letters = new StringBuilder();
            for (int i = random.nextInt(24); i > 0; i--) {
                letters.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
            }
            UTF8String text = UTF8String.fromString(letters.toString());
            UTF8String cut = text.translate(DROPPED);
            assertEquals(cast(cut.subStringIndex(COMMA, 1)), Sequence.first(text), letters::toString);
            assertEquals(cast(cut.subStringIndex(COMMA, -1)), Sequence.last(text), letters::toString);
        }
    }

    private static Long cast(UTF8String text) {
        try {
            return text.toLongExact();
        } catch (NumberFormatException notANumber) {
            return null;
        }
    }
}
