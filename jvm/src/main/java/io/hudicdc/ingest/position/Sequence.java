package io.hudicdc.ingest.position;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * Numbers in {@code source.sequence} of Debezium's PostgreSQL connector: JSON text of an array of texts, such as
 * {@code ["24023119","24023128"]} (debezium: postgresql/SourceInfo.java).
 *
 * <p>Brackets, quotes and spaces count for nothing, wherever they are: a text that is no such array has numbers, too,
 * or null, as by Spark's {@code translate}, {@code substring_index} and {@code try_cast}.
 */
public final class Sequence {
    /** Numbers of so many digits fit 64 bits. */
    private static final int SAFE_DIGITS = 18;

    private static final long NO_PLAIN_NUMBER = -1;

    private Sequence() {}

    /** Return the number before the first comma; null if there is none. */
    public static Long first(UTF8String sequence) {
        int end = 0;
        while (end < sequence.numBytes() && PaddedText.at(sequence, end) != ',') {
            end++;
        }
        return number(sequence, 0, end);
    }

    /** Return the number after the last comma; null if there is none. */
    public static Long last(UTF8String sequence) {
        int start = sequence.numBytes();
        while (start > 0 && PaddedText.at(sequence, start - 1) != ',') {
            start--;
        }
        return number(sequence, start, sequence.numBytes());
    }

    private static Long number(UTF8String sequence, int from, int to) {
        long plain = plainNumber(sequence, from, to);
        return plain == NO_PLAIN_NUMBER ? castNumber(sequence, from, to) : (Long) plain;
    }

    private static long plainNumber(UTF8String sequence, int from, int to) {
        long number = 0;
        int digits = 0;
        for (int at = from; at < to; at++) {
            byte letter = PaddedText.at(sequence, at);
            if (letter >= '0' && letter <= '9') {
                number = number * 10 + letter - '0';
                digits++;
            } else if (!isDropped(letter)) {
                return NO_PLAIN_NUMBER;
            }
        }
        return digits == 0 || digits > SAFE_DIGITS ? NO_PLAIN_NUMBER : number;
    }

    /** Return a number as Spark casts it: with a sign, or white space around it. */
    private static Long castNumber(UTF8String sequence, int from, int to) {
        byte[] kept = new byte[to - from];
        int length = 0;
        for (int at = from; at < to; at++) {
            byte letter = PaddedText.at(sequence, at);
            if (!isDropped(letter)) {
                kept[length++] = letter;
            }
        }
        UTF8String text = UTF8String.fromBytes(kept, 0, length);
        try {
            return mayBeNumber(kept, length) ? text.toLongExact() : null;
        } catch (NumberFormatException notANumber) {
            return null;
        }
    }

    /** Whether a text contains a digit. {@code null} does not: it is frequent, and an exception is dear. */
    private static boolean mayBeNumber(byte[] text, int length) {
        for (int at = 0; at < length; at++) {
            if (text[at] >= '0' && text[at] <= '9') {
                return true;
            }
        }
        return false;
    }

    private static boolean isDropped(byte letter) {
        return letter == '[' || letter == ']' || letter == '"' || letter == ' ';
    }
}
