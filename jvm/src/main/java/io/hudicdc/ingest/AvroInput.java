package io.hudicdc.ingest;

import java.math.BigInteger;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The bytes of one record, read from a place to their end by the primitives of Avro's binary encoding.
 *
 * <p>Every method leaves the place behind what it read, or throws {@link MalformedAvro}; no length is believed
 * beyond the bytes that are left.  Numbers that do not fit their type, booleans other than 0 and 1, and text that is
 * not UTF-8 are malformed: Avro's own BinaryDecoder makes something of them, and other decoders something else.
 */
final class AvroInput {
    private static final int INT_SHIFT = 28;
    private static final int INT_LAST = 0x0f;
    private static final int LONG_SHIFT = 63;
    private static final int LONG_LAST = 0x01;

    private byte[] bytes;
    private int at;

    void open(byte[] record, int from) {
        bytes = record;
        at = from;
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

    /** Refer to the record's own bytes: Spark never writes into a binary value (its casts to text do the same). */
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

    /** Read the size of what follows, which is not more than there is. */
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

    /** Go over some bytes, and return where they began. */
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
