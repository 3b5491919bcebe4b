package io.hudicdc.ingest;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/** The texts by which {@code ingest verify} compares values, and by which masks hash them. */
public final class CanonicalText {
    private static final long MICROS_PER_DAY = 86_400_000_000L;
    private static final long YEAR_1 = -719_162L * MICROS_PER_DAY;
    private static final long YEAR_10000 = 2_932_897L * MICROS_PER_DAY;
    private static final int DATE_END = "yyyy-MM-dd".length();
    private static final int SECONDS_END = "yyyy-MM-dd HH:mm:ss".length();
    /** The length of the longest timestamp. */
    static final int MICROS_END = SECONDS_END + ".ffffff".length();

    private CanonicalText() {}

    /** Return a decimal number in plain notation, without zeros at the end of its fraction. */
    public static UTF8String number(UTF8String text) {
        return UTF8String.fromString(
                new BigDecimal(text.toString()).stripTrailingZeros().toPlainString());
    }

    /** Return the bits of a number as a whole number; negative zero is zero. */
    public static UTF8String doubleBits(double number) {
        return UTF8String.fromString(Long.toString(Double.doubleToLongBits(number + 0.0d)));
    }

    /** Return the bits of a number as a whole number; negative zero is zero. */
    public static UTF8String floatBits(float number) {
        return UTF8String.fromString(Integer.toString(Float.floatToIntBits(number + 0.0f)));
    }

    /**
     * Return {@code yyyy-MM-dd HH:mm:ss.f} without trailing zeros for microseconds since 1970; the count itself
     * outside of the years 1 to 9999.
     */
    public static UTF8String timestamp(long micros) {
        byte[] text = new byte[MICROS_END];
        return UTF8String.fromBytes(text, 0, putTimestamp(text, 0, micros));
    }

    /** Put a timestamp at an index that has room for {@link #MICROS_END} octets behind it; return its end. */
    static int putTimestamp(byte[] text, int from, long micros) {
        if (micros < YEAR_1 || micros >= YEAR_10000) {
            return putCount(text, from, micros);
        }
        putCivil(text, from, Math.floorDiv(micros, MICROS_PER_DAY));
        long micro = Math.floorMod(micros, MICROS_PER_DAY);
        int second = (int) (micro / 1_000_000);
        text[from + DATE_END] = ' ';
        put(text, from + 11, from + 13, second / 3600);
        text[from + 13] = ':';
        put(text, from + 14, from + 16, second / 60 % 60);
        text[from + 16] = ':';
        put(text, from + 17, from + SECONDS_END, second % 60);
        int fraction = (int) (micro % 1_000_000);
        if (fraction == 0) {
            return from + SECONDS_END;
        }
        text[from + SECONDS_END] = '.';
        put(text, from + SECONDS_END + 1, from + MICROS_END, fraction);
        int end = from + MICROS_END;
        while (text[end - 1] == '0') {
            end--;
        }
        return end;
    }

    /** Put the date of a day since 1970 with the same room; the count itself outside of the years 1 to 9999. */
    static int putDate(byte[] text, int from, int day) {
        if (day < YEAR_1 / MICROS_PER_DAY || day >= YEAR_10000 / MICROS_PER_DAY) {
            return putCount(text, from, day);
        }
        putCivil(text, from, day);
        return from + DATE_END;
    }

    private static int putCount(byte[] text, int from, long count) {
        byte[] digits = Long.toString(count).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(digits, 0, text, from, digits.length);
        return from + digits.length;
    }

    /** Put the date of a day since 1970, by the algorithm civil_from_days of Howard Hinnant. */
    private static void putCivil(byte[] text, int from, long day) {
        long shifted = day + 719_468; // since the 1st of March of the year 0
        int era = (int) Math.floorDiv(shifted, 146_097L);
        int dayOfEra = (int) Math.floorMod(shifted, 146_097L);
        int yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365;
        int dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
        int month = (5 * dayOfYear + 2) / 153; // from March
        int year = yearOfEra + era * 400 + (month > 9 ? 1 : 0);
        put(text, from, from + 4, year);
        text[from + 4] = '-';
        put(text, from + 5, from + 7, month > 9 ? month - 9 : month + 3);
        text[from + 7] = '-';
        put(text, from + 8, from + DATE_END, dayOfYear - (153 * month + 2) / 5 + 1);
    }

    private static void put(byte[] text, int from, int to, int number) {
        int rest = number;
        for (int at = to - 1; at >= from; at--) {
            text[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
    }
}
