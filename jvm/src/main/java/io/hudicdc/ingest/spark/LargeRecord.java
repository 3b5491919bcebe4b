package io.hudicdc.ingest.spark;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The bytes that stand for a record's value where the record is too large to be kept: a mark that no schema reads. */
public final class LargeRecord {
    /** 0xFF is neither Confluent's magic byte nor UTF-8; {@code ingest.kafka.read} has the same bytes. */
    private static final byte[] MARK = mark();

    private LargeRecord() {}

    /** Return the value of a record of so many bytes. */
    public static byte[] marked(long size) {
        byte[] text = Long.toString(size).getBytes(StandardCharsets.US_ASCII);
        byte[] value = Arrays.copyOf(MARK, MARK.length + text.length);
        System.arraycopy(text, 0, value, MARK.length, text.length);
        return value;
    }

    /** Whether a value stands for that of a record that is too large. */
    public static boolean isMarked(byte[] value) {
        return value.length > MARK.length && Arrays.equals(value, 0, MARK.length, MARK, 0, MARK.length);
    }

    private static byte[] mark() {
        byte[] mark = " ingest: too large: ".getBytes(StandardCharsets.US_ASCII);
        mark[0] = (byte) 0xFF;
        return mark;
    }
}
