package io.hudicdc.ingest.time;

import org.apache.spark.unsafe.types.UTF8String;

/** Times of day, and durations, as text. */
public final class Clock {
    private static final int LEAST_HOUR_DIGITS = 2;

    private Clock() {}

    /** Return {@code [-]HH:mm:ss.f}, with {@code digits} digits after the point, for a count of 10^-digits s. */
    public static UTF8String text(long count, int digits) {
        long unit = 1;
        for (int i = 0; i < digits; i++) {
            unit *= 10;
        }
        long seconds = Math.abs(count / unit);
        long hours = seconds / 3600;
        int sign = count < 0 ? 1 : 0;
        int minutesAt = sign + hourDigits(hours) + 1;
        byte[] text = new byte[minutesAt + "mm:ss.".length() + digits];
        if (sign > 0) {
            text[0] = '-';
        }
        put(text, sign, minutesAt - 1, hours);
        text[minutesAt - 1] = ':';
        put(text, minutesAt, minutesAt + 2, seconds / 60 % 60);
        text[minutesAt + 2] = ':';
        put(text, minutesAt + 3, minutesAt + 5, seconds % 60);
        text[minutesAt + 5] = '.';
        put(text, minutesAt + 6, text.length, Math.abs(count % unit));
        return UTF8String.fromBytes(text);
    }

    private static int hourDigits(long hours) {
        int digits = LEAST_HOUR_DIGITS;
        for (long rest = hours / 100; rest > 0; rest /= 10) {
            digits++;
        }
        return digits;
    }

    private static void put(byte[] text, int from, int to, long number) {
        long rest = number;
        for (int at = to - 1; at >= from; at--) {
            text[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
    }
}
