package io.hudicdc.ingest.position;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Random;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link Lsn} against a pattern. */
class LsnTest {
    private static final String PATTERN = "[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}|0{1,21}";
    private static final List<String> TEXTS =
            List.of("00000025:00000d98:00a2", "ffffffff:ffffffff:ffff", "00", "", "00000000000000000000000");

    @Test
    void anLsnWithAnyByteChangedIsJudgedByThePattern() {
        Random random = new Random(1);
        for (int round = 0; round < 100_000; round++) {
            StringBuilder letters = new StringBuilder(TEXTS.get(random.nextInt(TEXTS.size())));
            if (letters.length() > 0 && random.nextBoolean()) {
                letters.setCharAt(random.nextInt(letters.length()), (char) random.nextInt(128));
            }
            letters.setLength(random.nextInt(8) == 0 ? random.nextInt(letters.length() + 1) : letters.length());
            String text = letters.toString();
            assertEquals(text.matches(PATTERN), Lsn.isLsn(UTF8String.fromString(text)), text);
        }
    }
}
