package io.hudicdc.ingest.avro;

import io.hudicdc.ingest.spark.Utf8;
import java.math.BigInteger;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads the primitives of Avro's binary encoding from the bytes of one record.
 *
 * <p>Every method advances behind its value, or throws {@link MalformedAvro}. A length never exceeds the remaining bytes.
 * Numbers that do not fit their type, booleans other than 0 and 1, and text that is not UTF-8 are malformed: Avro's own
 * BinaryDecoder (1.11) accepts them, and other decoders disagree with it on their value.
 */
final class AvroInput {
    private static final int INT_SHIFT = 28;
    private static final int INT_LAST = 0x0f;
    private static final int LONG_SHIFT = 63;
    private static final int LONG_LAST = 0x01;

    /** Elements without bytes in one record: any count of them fits in a few bytes, so that it is not believed. */
    static final int MAX_EMPTY = 1 << 16;

    private final long mostBytes;
    private byte[] bytes;
    private int at;
    private int empty;
    private long decodedBytes;

    /** {@code mostBytes} is the memory that the values of one record may take, by {@link #countDecoded}. */
    AvroInput(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    void open(byte[] record, int from) {
        bytes = record;
        at = from;
        empty = 0;
        decodedBytes = 0;
    }

    /** Count the memory of values before it is allocated: nulls of one byte become fields of many. */
    void countDecoded(long size) {
        decodedBytes += size;
        if (decodedBytes > mostBytes) {
            throw MalformedAvro.TOO_LARGE;
        }
    }

    /** Count elements that take no bytes. */
    void countEmpty(int elements) {
        empty += elements;
        if (empty > MAX_EMPTY) {
            throw MalformedAvro.FOUND;
        }
    }

    int left() {
        return bytes.length - at;
    }

    int readInt() {
        int next = next();
        int raw = next & 0x7f;
        for (int shift = 7; next < 0; shift += 7) {
            next = next();
            if (shift == INT_SHIFT && (next & 0xff) > INT_LAST) {
                throw MalformedAvro.FOUND;
            }
            raw |= (next & 0x7f) << shift;
        }
        return (raw >>> 1) ^ -(raw & 1);
    }

    long readLong() {
        int next = next();
        long raw = next & 0x7f;
        for (int shift = 7; next < 0; shift += 7) {
            next = next();
            if (shift == LONG_SHIFT && (next & 0xff) > LONG_LAST) {
                throw MalformedAvro.FOUND;
            }
            raw |= (next & 0x7fL) << shift;
        }
        return (raw >>> 1) ^ -(raw & 1);
    }

    boolean readBoolean() {
        int value = next();
        if (value != 0 && value != 1) {
            throw MalformedAvro.FOUND;
        }
        return value == 1;
    }

    float readFloat() {
        return Float.intBitsToFloat((int) littleEndian(Float.BYTES));
    }

    double readDouble() {
        return Double.longBitsToDouble(littleEndian(Double.BYTES));
    }

    /** Share the bytes of the record: Spark never writes into a binary value (its casts to text share them too). */
    UTF8String readString() {
        int size = readSize();
        int from = skip(size);
        if (!Utf8.isValid(bytes, from, at)) {
            throw MalformedAvro.FOUND;
        }
        return UTF8String.fromBytes(bytes, from, size);
    }

    byte[] readBytes() {
        return readFixed(readSize());
    }

    byte[] readFixed(int size) {
        int from = skip(size);
        return Arrays.copyOfRange(bytes, from, from + size);
    }

    /** Read the size of the bytes that follow; it never exceeds them. */
    int readSize() {
        long size = readLong();
        if (size < 0 || size > left()) {
            throw MalformedAvro.FOUND;
        }
        return (int) size;
    }

    /** Read a big-endian number in two's complement, of at most 8 bytes. */
    long readBigEndian(int size) {
        int from = skip(size);
        long value = bytes[from]; // with its sign
        for (int i = from + 1; i < from + size; i++) {
            value = value << Byte.SIZE | (bytes[i] & 0xff);
        }
        return value;
    }

    BigInteger readBigInteger(int size) {
        return new BigInteger(bytes, skip(size), size);
    }

    /** Skip some bytes, and return their start. */
    int skip(int size) {
        if (size > left()) {
            throw MalformedAvro.FOUND;
        }
        int from = at;
        at += size;
        return from;
    }

    private int next() {
        if (at >= bytes.length) {
            throw MalformedAvro.FOUND;
        }
        return bytes[at++];
    }

    private long littleEndian(int size) {
        int from = skip(size);
        long value = 0;
        for (int i = from + size - 1; i >= from; i--) {
            value = value << Byte.SIZE | (bytes[i] & 0xff);
        }
        return value;
    }
}
