package io.hudicdc.ingest.time;

import java.time.ZoneOffset;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * Parses ISO-8601 timestamps that begin with a year of four digits, to microseconds since 1970-01-01 UTC.
 *
 * <p>The result equals that of {@code try_cast(text as timestamp)} in a session with the zone UTC, except that a padded
 * text is null. Spark parses the offset with a regular expression and looks the zone up in a table, which takes most of
 * a microsecond. Debezium's format, {@code yyyy-MM-ddTHH:mm:ss[.f](Z|±HH:mm)}, is parsed here. Spark parses all others.
 */
public final class Instants {
    /** Marks a text that was not parsed; Spark's range of timestamps begins later. */
    private static final long NONE = Long.MIN_VALUE;

    private static final int YEAR_SIZE = "yyyy".length();
    private static final int SECONDS_END = "yyyy-MM-ddTHH:mm:ss".length();
    private static final int OFFSET_SIZE = "+HH:mm".length();
    private static final int MAX_OFFSET_HOURS = 17;
    private static final int MAX_DIGITS = 9;
    private static final int MICRO_DIGITS = 6;
    private static final int[] MONTH_DAYS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    private static final int[] DAYS_BEFORE = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    private static final int DAYS_TO_1970 = 719_162;

    private Instants() {}

    /** Return the microseconds of a text, or null; generated code calls this. */
    public static Long micros(UTF8String text) {
        byte[] bytes = text.getBytes();
        long micros = debezium(bytes);
        if (micros != NONE) {
            return micros;
        }
        if (!hasYear(bytes) || isPadded(bytes)) {
            return null;
        }
        Option<Object> timestamp = DateTimeUtils.stringToTimestamp(text, ZoneOffset.UTC);
        return timestamp.isDefined() ? (Long) timestamp.get() : null;
    }

    /** Spark would add the current date to a time of day, and accept -2024 as a year. */
    private static boolean hasYear(byte[] text) {
        return text.length > YEAR_SIZE && text[YEAR_SIZE] == '-';
    }

    /**
     * Spark trims control characters, even between the digits and the zone, and spaces: with {@code -08:0 } it would
     * take a damaged minute.
     */
    private static boolean isPadded(byte[] text) {
        if (text[text.length - 1] == ' ') {
            return true;
        }
        for (byte character : text) {
            if (character >= 0 && character < ' ') {
                return true;
            }
        }
        return false;
    }

    /** Parse Debezium's format, or return {@link #NONE}. */
    private static long debezium(byte[] text) {
        int size = text.length;
        if (size <= SECONDS_END || !isPunctuated(text)) {
            return NONE;
        }
        long seconds = seconds(text);
        int zone = zoneStart(text, size);
        long offset = zone < 0 ? NONE : offset(text, zone, size);
        if (seconds == NONE || offset == NONE) {
            return NONE;
        }
        return (seconds - offset) * 1_000_000 + fraction(text, zone);
    }

    private static boolean isPunctuated(byte[] text) {
        return text[YEAR_SIZE] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':';
    }

    private static long seconds(byte[] text) {
        int century = two(text, 0);
        int rest = two(text, 2);
        int month = two(text, 5);
        int day = two(text, 8);
        int hour = two(text, 11);
        int minute = two(text, 14);
        int second = two(text, 17);
        int year = century * 100 + rest;
        boolean digits = (century | rest | month | day | hour | minute | second) >= 0;
        if (!digits || year < 1 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) {
            return NONE;
        }
        boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (day < 1 || day > MONTH_DAYS[month - 1] + (leap && month == 2 ? 1 : 0)) {
            return NONE;
        }
        int before = year - 1;
        int days = before * 365 + before / 4 - before / 100 + before / 400 - DAYS_TO_1970;
        days += DAYS_BEFORE[month - 1] + (leap && month > 2 ? 1 : 0) + day - 1;
        return ((days * 24L + hour) * 60 + minute) * 60 + second;
    }

    /** Return the end of the digits after the seconds, or -1. */
    private static int zoneStart(byte[] text, int size) {
        if (text[SECONDS_END] != '.') {
            return SECONDS_END;
        }
        int at = SECONDS_END + 1;
        while (at < size && digit(text, at) >= 0) {
            at++;
        }
        int digits = at - SECONDS_END - 1;
        return digits == 0 || digits > MAX_DIGITS || at == size ? -1 : at;
    }

    /** Read up to six digits, and truncate the others. */
    private static long fraction(byte[] text, int zone) {
        long micros = 0;
        for (int i = 1; i <= MICRO_DIGITS; i++) {
            int at = SECONDS_END + i;
            micros = micros * 10 + (at < zone ? digit(text, at) : 0);
        }
        return micros;
    }

    private static long offset(byte[] text, int at, int size) {
        int sign = text[at];
        if (sign == 'Z') {
            return at + 1 == size ? 0 : NONE;
        }
        boolean shaped = (sign == '+' || sign == '-') && at + OFFSET_SIZE == size && text[at + 3] == ':';
        if (!shaped) {
            return NONE;
        }
        int hours = two(text, at + 1);
        int minutes = two(text, at + 4);
        if ((hours | minutes) < 0 || hours > MAX_OFFSET_HOURS || minutes > 59) {
            return NONE;
        }
        int seconds = (hours * 60 + minutes) * 60;
        return sign == '-' ? -seconds : seconds;
    }

    /** Read two digits; negative for other characters. */
    private static int two(byte[] text, int at) {
        int tens = digit(text, at);
        int ones = digit(text, at + 1);
        return (tens | ones) < 0 ? -1 : tens * 10 + ones;
    }

    private static int digit(byte[] text, int at) {
        int value = text[at] - '0';
        return value > 9 ? -1 : value;
    }
}
