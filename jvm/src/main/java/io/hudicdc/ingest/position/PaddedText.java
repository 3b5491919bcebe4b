package io.hudicdc.ingest.position;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Text of a fixed width, filled with zeros on the left: numbers that compare bytewise.
 *
 * <p>The texts are those of Spark's {@code lpad(text, width, '0')}, which copies each part by {@code Unsafe.copyMemory}.
 * HotSpot's first compiler calls the checks of that method by JNI.
 */
public final class PaddedText {
    private static final UTF8String ZERO = UTF8String.fromString("0");

    private PaddedText() {}

    /** Return a number that is not negative, as {@code width} digits. */
    public static UTF8String ofNumber(long number, int width) {
        byte[] digits = new byte[width];
        long rest = number;
        for (int at = width - 1; at >= 0; at--) {
            digits[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        return number < 0 || rest > 0
                ? ofText(UTF8String.fromString(Long.toString(number)), width)
                : UTF8String.fromBytes(digits);
    }

    /** Return a text of at most {@code width} characters, filled; the first ones of a longer text. */
    public static UTF8String ofText(UTF8String text, int width) {
        int length = text.numBytes();
        if (length > width || length == 0) {
            return text.lpad(width, ZERO);
        }
        byte[] filled = new byte[width];
        Arrays.fill(filled, 0, width - length, (byte) '0');
        for (int at = 0; at < length; at++) {
            byte letter = at(text, at);
            if (letter < 0) { // characters of several bytes are counted, not bytes
                return text.lpad(width, ZERO);
            }
            filled[width - length + at] = letter;
        }
        return UTF8String.fromBytes(filled);
    }

    /** Whether a text consists of one to {@code most} digits. */
    public static boolean isNumber(UTF8String text, int most) {
        int length = text.numBytes();
        for (int at = 0; at < length; at++) {
            if (!isDigit(at(text, at))) {
                return false;
            }
        }
        return length > 0 && length <= most;
    }

    /** Whether a text consists of one to {@code most} lower-case hexadecimal digits. */
    public static boolean isHex(UTF8String text, int most) {
        int length = text.numBytes();
        for (int at = 0; at < length; at++) {
            if (!isHexDigit(at(text, at))) {
                return false;
            }
        }
        return length > 0 && length <= most;
    }

    static boolean isDigit(byte letter) {
        return letter >= '0' && letter <= '9';
    }

    static boolean isHexDigit(byte letter) {
        return isDigit(letter) || letter >= 'a' && letter <= 'f';
    }

    /** Return one byte of a text, without a copy. */
    static byte at(UTF8String text, int index) {
        return Platform.getByte(text.getBaseObject(), text.getBaseOffset() + index);
    }
}
