package io.hudicdc.ingest.spark;

import org.apache.spark.unsafe.Platform;

/**
 * Validates UTF-8, which Spark 3.5 does not: it would show invalid bytes as other text.
 *
 * <p>{@code CharsetDecoder} takes several times as long, and copies; Spark 4 has {@code UTF8String.isValid}
 * (SPARK-48577).
 */
public final class Utf8 {
    private static final long HIGH_BITS = 0x8080808080808080L;
    private static final int FIRST_OF_TWO = 0xc2;
    private static final int FIRST_OF_THREE = 0xe0;
    private static final int FIRST_OF_FOUR = 0xf0;
    private static final int BEYOND_FOUR = 0xf5;
    private static final int LOW = 0x80;
    private static final int HIGH = 0xbf;

    private Utf8() {}

    /** Validate the bytes from a start to before an end. Most text is ASCII, which is checked eight bytes at a time. */
    public static boolean isValid(byte[] bytes, int from, int to) {
        int at = from;
        while (at < to) {
            if (at + Long.BYTES <= to && (Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at) & HIGH_BITS) == 0) {
                at += Long.BYTES;
            } else if (bytes[at] >= 0) {
                at++;
            } else {
                int size = size(bytes, at, to);
                if (size == 0) {
                    return false;
                }
                at += size;
            }
        }
        return true;
    }

    /** Return the size of a character of several bytes; 0 if it is invalid. */
    private static int size(byte[] bytes, int at, int to) {
        int first = bytes[at] & 0xff;
        int size = first < FIRST_OF_THREE ? 2 : first < FIRST_OF_FOUR ? 3 : 4;
        if (first < FIRST_OF_TWO || first >= BEYOND_FOUR || at + size > to) {
            return 0;
        }
        int second = bytes[at + 1] & 0xff;
        if (second < lowest(first) || second > highest(first)) {
            return 0;
        }
        for (int next = at + 2; next < at + size; next++) {
            if ((bytes[next] & 0xc0) != LOW) {
                return 0;
            }
        }
        return size;
    }

    /** Overlong encodings are invalid. */
    private static int lowest(int first) {
        return first == FIRST_OF_THREE ? 0xa0 : first == FIRST_OF_FOUR ? 0x90 : LOW;
    }

    /** Surrogates and code points above U+10FFFF are invalid. */
    private static int highest(int first) {
        return first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : HIGH;
    }
}
