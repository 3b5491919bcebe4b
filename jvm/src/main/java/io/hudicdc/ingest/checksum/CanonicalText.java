package io.hudicdc.ingest.checksum;

import java.math.BigDecimal;
import org.apache.spark.unsafe.types.UTF8String;

/** The texts by which {@code ingest verify} compares values, and by which masks hash them. */
public final class CanonicalText {
    static final long MICROS_PER_DAY = 86_400_000_000L;
    private static final long YEAR_1 = -719_162L * MICROS_PER_DAY;
    private static final long YEAR_10000 = 2_932_897L * MICROS_PER_DAY;
    static final int DATE_END = "yyyy-MM-dd".length();
    private static final int TIME_END = " HH:mm:ss".length();
    /** The length of the longest timestamp. */
    static final int MICROS_END = DATE_END + TIME_END + ".ffffff".length();

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
        if (!isTimestamp(micros)) {
            return UTF8String.fromString(Long.toString(micros));
        }
        byte[] text = new byte[MICROS_END];
        long day = Math.floorDiv(micros, MICROS_PER_DAY);
        putDay(text, 0, day);
        return UTF8String.fromBytes(text, 0, putTime(text, DATE_END, micros - day * MICROS_PER_DAY));
    }

    /** Whether a timestamp is in the years 1 to 9999. */
    static boolean isTimestamp(long micros) {
        return micros >= YEAR_1 && micros < YEAR_10000;
    }

    /** Whether a day since 1970 is in the years 1 to 9999. */
    static boolean isDate(int day) {
        return day >= YEAR_1 / MICROS_PER_DAY && day < YEAR_10000 / MICROS_PER_DAY;
    }

    /** Put {@code  HH:mm:ss.f} at an index that has room for {@link #MICROS_END} octets behind it; return its end. */
    static int putTime(byte[] text, int from, long micro) {
        int second = (int) (micro / 1_000_000);
        text[from] = ' ';
        put(text, from + 1, from + 3, second / 3600);
        text[from + 3] = ':';
        put(text, from + 4, from + 6, second / 60 % 60);
        text[from + 6] = ':';
        put(text, from + 7, from + TIME_END, second % 60);
        int fraction = (int) (micro - second * 1_000_000L);
        if (fraction == 0) {
            return from + TIME_END;
        }
        text[from + TIME_END] = '.';
        put(text, from + TIME_END + 1, from + TIME_END + 7, fraction);
        int end = from + TIME_END + 7;
        while (text[end - 1] == '0') {
            end--;
        }
        return end;
    }

    /** Put the date of a day since 1970, by the algorithm civil_from_days of Howard Hinnant. */
    static void putDay(byte[] text, int from, long day) {
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
            int tenth = tenth(rest);
            text[at] = (byte) ('0' + rest - 10 * tenth);
            rest = tenth;
        }
    }

    /** Return the tenth of a number that is not negative: HotSpot's first compiler divides by an instruction. */
    static int tenth(int number) {
        return (int) (number * 0xCCCCCCCDL >>> 35);
    }
}
