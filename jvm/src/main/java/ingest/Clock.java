package ingest;

import org.apache.spark.unsafe.types.UTF8String;

/** Times of day as text. */
public final class Clock {
    private static final long SECONDS = 24 * 60 * 60;
    private static final int TEXT_SIZE = "HH:mm:ss.".length();

    private Clock() {}

    /** Return {@code HH:mm:ss.f} with so many digits of a count of 10^-digits s since midnight, or null beyond a day. */
    public static UTF8String text(long count, int digits) {
        long unit = 1;
        for (int i = 0; i < digits; i++) {
            unit *= 10;
        }
        if (count < 0 || count > SECONDS * unit) {
            return null;
        }
        byte[] text = new byte[TEXT_SIZE + digits];
        int second = (int) (count / unit);
        put(text, 0, 2, second / 3600);
        text[2] = ':';
        put(text, 3, 2, second / 60 % 60);
        text[5] = ':';
        put(text, 6, 2, second % 60);
        text[8] = '.';
        put(text, TEXT_SIZE, digits, count % unit);
        return UTF8String.fromBytes(text);
    }

    private static void put(byte[] text, int from, int digits, long number) {
        long rest = number;
        for (int at = from + digits - 1; at >= from; at--) {
            text[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
    }
}
