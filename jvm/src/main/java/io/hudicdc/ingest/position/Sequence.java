package io.hudicdc.ingest.position;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code source.sequence} of Debezium's PostgreSQL connector: JSON text of an array of two numbers, as texts or null,
 * such as {@code ["24023119","24023128"]} (debezium: postgresql/SourceInfo.java). Spaces around the items are allowed, and
 * numbers without quotes.
 */
public final class Sequence {
    private static final int MOST_DIGITS = 19; // of a number of 64 bits
    private static final long MALFORMED = -1;
    private static final long NONE = -2;

    private Sequence() {}

    /** Return the first number; null for null, and -1 for a text that is not a sequence. */
    public static Long first(UTF8String text) {
        return number(text, 0);
    }

    /** Return the second number; null for null, and -1 for a text that is not a sequence. */
    public static Long last(UTF8String text) {
        return number(text, 1);
    }

    private static Long number(UTF8String text, int index) {
        long[] numbers = numbers(text);
        if (numbers == null) {
            return MALFORMED;
        }
        return numbers[index] == NONE ? null : (Long) numbers[index];
    }

    /** Return both numbers, of which {@code NONE} is a null, or null for a text that is not a sequence. */
    private static long[] numbers(UTF8String text) {
        long[] numbers = new long[2];
        int at = 0;
        for (int index = 0; index < numbers.length; index++) {
            if (!isAt(text, at, index == 0 ? '[' : ',')) {
                return null;
            }
            int end = endOfItem(text, at + 1);
            numbers[index] = item(text, at + 1, end);
            if (numbers[index] == MALFORMED) {
                return null;
            }
            at = end;
        }
        return isAt(text, at, ']') && at == text.numBytes() - 1 ? numbers : null;
    }

    private static boolean isAt(UTF8String text, int at, char letter) {
        return at < text.numBytes() && PaddedText.at(text, at) == letter;
    }

    private static int endOfItem(UTF8String text, int from) {
        int end = from;
        while (end < text.numBytes() && !isAt(text, end, ',') && !isAt(text, end, ']')) {
            end++;
        }
        return end;
    }

    private static long item(UTF8String text, int from, int to) {
        int start = from;
        int end = to;
        while (start < end && isAt(text, start, ' ')) {
            start++;
        }
        while (start < end && isAt(text, end - 1, ' ')) {
            end--;
        }
        if (isNull(text, start, end)) {
            return NONE;
        }
        boolean isQuoted = end - start > 1 && isAt(text, start, '"') && isAt(text, end - 1, '"');
        return isQuoted ? digits(text, start + 1, end - 1) : digits(text, start, end);
    }

    private static boolean isNull(UTF8String text, int from, int to) {
        return to - from == 4
                && isAt(text, from, 'n')
                && isAt(text, from + 1, 'u')
                && isAt(text, from + 2, 'l')
                && isAt(text, from + 3, 'l');
    }

    private static long digits(UTF8String text, int from, int to) {
        if (from == to || to - from > MOST_DIGITS) {
            return MALFORMED;
        }
        long number = 0;
        for (int at = from; at < to; at++) {
            byte letter = PaddedText.at(text, at);
            if (!PaddedText.isDigit(letter)) {
                return MALFORMED;
            }
            number = number * 10 + letter - '0';
        }
        return number < 0 ? MALFORMED : number; // beyond 64 bits
    }
}
