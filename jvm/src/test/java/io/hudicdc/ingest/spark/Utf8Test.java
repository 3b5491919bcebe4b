package io.hudicdc.ingest.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link Utf8} against the JDK's own decoder. */
class Utf8Test {
    /** The bytes at which the rules of UTF-8 change, and one inside each range. */
    private static final int[] EDGES = {
        0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
        0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff
    };

    @Test
    void everySequenceOfUpToFourEdgeBytesIsJudgedAsByTheJdk() {
        for (int size = 0; size <= 4; size++) {
            int count = (int) Math.pow(EDGES.length, size);
            for (int number = 0; number < count; number++) {
                byte[] text = new byte[size];
                for (int i = 0, rest = number; i < size; i++, rest /= EDGES.length) {
                    text[i] = (byte) EDGES[rest % EDGES.length];
                }
                check(text, 0, size);
            }
        }
    }

    @Test
    void everyPartOfALongTextIsJudgedAsByTheJdk() {
        Random random = new Random(1);
        for (int round = 0; round < 20_000; round++) {
            byte[] text = "plain ASCII, é, ☃, \uD83D\uDE00, and ASCII again".getBytes(StandardCharsets.UTF_8);
            if (round % 2 == 0) {
                text[random.nextInt(text.length)] = (byte) random.nextInt(256);
            }
            int from = random.nextInt(text.length);
            check(text, from, from + random.nextInt(text.length - from + 1));
        }
    }

    private static void check(byte[] text, int from, int to) {
        byte[] part = Arrays.copyOfRange(text, from, to);
        assertEquals(isText(part), Utf8.isValid(text, from, to), () -> Arrays.toString(part));
    }

    private static boolean isText(byte[] part) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(part));
            return true;
        } catch (CharacterCodingException malformed) {
            return false;
        }
    }
}
