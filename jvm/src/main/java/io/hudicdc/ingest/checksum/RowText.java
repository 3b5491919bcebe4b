package io.hudicdc.ingest.checksum;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** The canonical text of one row after the other in one buffer: parts between commas, nothing for null. */
public class RowText {
    private static final int MAX_LONG_DIGITS = 18;
    private static final int MAX_NUMBER_CHARS = Long.toString(Long.MIN_VALUE).length();
    /** The digits of a long number are written in groups: a division of ints is cheaper. */
    private static final long GROUP = 100_000_000;

    private static final int GROUP_DIGITS = 8;
    private static final long LARGEST = 1_000_000_000_000_000_000L;
    private static final int DAYS = 256;
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private byte[] bytes = new byte[1024];
    private int size;
    private final int[] days = new int[DAYS];
    private final byte[] dates = new byte[DAYS * CanonicalText.DATE_END];

    /** Make an empty buffer. */
    public RowText() {
        Arrays.fill(days, Integer.MIN_VALUE);
    }

    /** Begin a row. */
    public final void begin() {
        size = 0;
    }

    /** End a part that another one follows. */
    public final void next() {
        reserve(1);
        bytes[size++] = ',';
    }

    /** Append {@code true} or {@code false}. */
    public final void addBoolean(boolean value) {
        addAscii(value ? "true" : "false");
    }

    /** Append the digits of a whole number. */
    public final void addNumber(long number) {
        addUnscaled(number, 0);
    }

    /** Append a decimal without an exponent, with all digits of its scale. */
    public final void addDecimal(Decimal decimal) {
        if (decimal.precision() <= MAX_LONG_DIGITS) {
            addUnscaled(decimal.toUnscaledLong(), decimal.scale());
        } else {
            addAscii(decimal.toJavaBigDecimal().toPlainString());
        }
    }

    /** Append what {@link CanonicalText#doubleBits} returns. */
    public final void addDouble(double number) {
        addNumber(Double.doubleToLongBits(number + 0.0d));
    }

    /** Append what {@link CanonicalText#floatBits} returns. */
    public final void addFloat(float number) {
        addNumber(Float.floatToIntBits(number + 0.0f));
    }

    /** Append {@code yyyy-MM-dd} for a day since 1970; the count itself outside of the years 1 to 9999. */
    public final void addDate(int day) {
        if (CanonicalText.isDate(day)) {
            addDay(day);
        } else {
            addNumber(day);
        }
    }

    /** Append what {@link CanonicalText#timestamp} returns. */
    public final void addTimestamp(long micros) {
        if (CanonicalText.isTimestamp(micros)) {
            long day = Math.floorDiv(micros, CanonicalText.MICROS_PER_DAY);
            addDay((int) day);
            reserve(CanonicalText.MICROS_END);
            size = CanonicalText.putTime(bytes, size, micros - day * CanonicalText.MICROS_PER_DAY);
        } else {
            addNumber(micros);
        }
    }

    /** Append the date of a day; rows that follow each other often have the same days. */
    private void addDay(int day) {
        int slot = day & DAYS - 1;
        if (days[slot] != day) {
            days[slot] = day;
            CanonicalText.putDay(dates, slot * CanonicalText.DATE_END, day);
        }
        reserve(CanonicalText.DATE_END);
        System.arraycopy(dates, slot * CanonicalText.DATE_END, bytes, size, CanonicalText.DATE_END);
        size += CanonicalText.DATE_END;
    }

    /** Append a text that holds no comma. */
    public final void addText(UTF8String text) {
        int length = text.numBytes();
        reserve(length);
        Platform.copyMemory(
                text.getBaseObject(), text.getBaseOffset(), bytes, Platform.BYTE_ARRAY_OFFSET + size, length);
        size += length;
    }

    /** Append a text of any characters: its octets, a colon, itself. */
    public final void addFreeText(UTF8String text) {
        addNumber(text.numBytes());
        reserve(1);
        bytes[size++] = ':';
        addText(text);
    }

    /** Append an {@code x} and lower-case hexadecimal. */
    public final void addBinary(byte[] octets) {
        reserve(1 + 2 * octets.length);
        bytes[size++] = 'x';
        for (byte octet : octets) {
            bytes[size++] = HEX[octet >> 4 & 0xf];
            bytes[size++] = HEX[octet & 0xf];
        }
    }

    /** Return the row as text. */
    public final UTF8String text() {
        return UTF8String.fromBytes(Arrays.copyOf(bytes, size));
    }

    /** Return the row's {@link Checksums#md5Number}. */
    public final long md5Number() {
        return Checksums.md5Number(bytes, size);
    }

    /** Return the {@link Checksums#postgresHash} of the text. */
    final long postgresHash(long seed) {
        return Checksums.postgresHash(bytes, Platform.BYTE_ARRAY_OFFSET, size, seed);
    }

    /** Append a number with its last digits behind the point. */
    private void addUnscaled(long unscaled, int scale) {
        reserve(MAX_NUMBER_CHARS + 2 + scale);
        if (unscaled < 0) {
            bytes[size++] = '-';
        }
        long rest = Math.abs(unscaled); // that of the least number stays negative, and is right without a sign
        int end = size + Math.max(digits(rest), scale + 1) + (scale > 0 ? 1 : 0);
        int point = scale > 0 ? end - 1 - scale : -1;
        int at = end - 1;
        while (at >= size) {
            long higher = rest >= 0 && rest < GROUP ? 0 : Long.divideUnsigned(rest, GROUP);
            int group = (int) (rest - higher * GROUP);
            for (int digit = 0; digit < GROUP_DIGITS && at >= size; digit++) {
                if (at == point) {
                    bytes[at--] = '.';
                }
                int tenth = CanonicalText.tenth(group);
                bytes[at--] = (byte) ('0' + group - 10 * tenth);
                group = tenth;
            }
            rest = higher;
        }
        size = end;
    }

    private static int digits(long number) {
        int digits = 1;
        for (long bound = 10; number >= bound && digits < MAX_LONG_DIGITS; bound *= 10) {
            digits++;
        }
        return number < 0 || number >= LARGEST ? MAX_LONG_DIGITS + 1 : digits;
    }

    private void addAscii(String text) {
        byte[] ascii = text.getBytes(StandardCharsets.ISO_8859_1);
        reserve(ascii.length);
        System.arraycopy(ascii, 0, bytes, size, ascii.length);
        size += ascii.length;
    }

    private void reserve(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, Math.addExact(size, more)));
        }
    }
}
