package io.hudicdc.ingest.checksum;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Checksums of texts, as databases compute them in SQL. */
public final class Checksums {
    private static final int UNREAD_BITS = 8;
    private static final int BLOCK = 12;
    private static final int INITIAL = 0x9e3779b9 + 3923095;
    private static final boolean IS_LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    private static final ThreadLocal<MessageDigest> MD5 = ThreadLocal.withInitial(Checksums::md5);

    private Checksums() {}

    /** Return the first 56 bits of the MD5 digest of a text. */
    public static long md5Number(UTF8String text) {
        byte[] octets = text.getBytes();
        return md5Number(octets, octets.length);
    }

    /** Return the same of the first octets of an array. */
    static long md5Number(byte[] octets, int length) {
        MessageDigest md5 = MD5.get();
        md5.update(octets, 0, length);
        return ByteBuffer.wrap(md5.digest()).getLong() >>> UNREAD_BITS;
    }

    /**
     * Return what PostgreSQL's {@code hashtextextended(text, seed)} returns on a little-endian machine for octets in
     * memory, a text in UTF-8 with a deterministic collation: {@code hash_bytes_extended} of {@code
     * src/common/hashfn.c}, since 11.
     */
    static long postgresHash(Object base, long offset, int length, long seed) {
        int rest = length % BLOCK;
        long tail = offset + length - rest;
        int low = rest >= 4 ? word(base, tail) : octets(base, tail, rest);
        int middle = rest >= 8 ? word(base, tail + 4) : octets(base, tail + 4, rest - 4);
        int high = octets(base, tail + 8, rest - 8) << 8; // its lowest octet is reserved for the length
        return hash(base, offset, length, seed, low, middle, high);
    }

    /** Return the same of four or eight octets: the lower word is the first one. */
    static long postgresHash(int low, int high, int length, long seed) {
        return hash(null, 0, length, seed, low, high, 0);
    }

    /** Hash the whole blocks in memory, then the three words of the rest. */
    private static long hash(Object base, long offset, int length, long seed, int low, int middle, int high) {
        int a = INITIAL + length;
        int b = a;
        int c = a;
        int at = seed == 0 ? 0 : -BLOCK; // a seed is a block in front of the others
        for (; length - at >= BLOCK; at += BLOCK) {
            a += at < 0 ? (int) (seed >>> 32) : word(base, offset + at);
            b += at < 0 ? (int) seed : word(base, offset + at + 4);
            c += at < 0 ? 0 : word(base, offset + at + 8);
            a -= c;
            a ^= Integer.rotateLeft(c, 4);
            c += b;
            b -= a;
            b ^= Integer.rotateLeft(a, 6);
            a += c;
            c -= b;
            c ^= Integer.rotateLeft(b, 8);
            b += a;
            a -= c;
            a ^= Integer.rotateLeft(c, 16);
            c += b;
            b -= a;
            b ^= Integer.rotateLeft(a, 19);
            a += c;
            c -= b;
            c ^= Integer.rotateLeft(b, 4);
            b += a;
        }
        return last(a + low, b + middle, c + high);
    }

    private static long last(int first, int second, int third) {
        int a = first;
        int b = second;
        int c = third;
        c ^= b;
        c -= Integer.rotateLeft(b, 14);
        a ^= c;
        a -= Integer.rotateLeft(c, 11);
        b ^= a;
        b -= Integer.rotateLeft(a, 25);
        c ^= b;
        c -= Integer.rotateLeft(b, 16);
        a ^= c;
        a -= Integer.rotateLeft(c, 4);
        b ^= a;
        b -= Integer.rotateLeft(a, 14);
        c ^= b;
        c -= Integer.rotateLeft(b, 24);
        return (long) b << 32 | c & 0xffffffffL;
    }

    /** Return four octets, the lowest one first. */
    private static int word(Object base, long offset) {
        int word = Platform.getInt(base, offset);
        return IS_LITTLE_ENDIAN ? word : Integer.reverseBytes(word);
    }

    /** Return up to three octets, the lowest one first. */
    private static int octets(Object base, long offset, int count) {
        int value = 0;
        for (int i = count - 1; i >= 0; i--) {
            value = value << 8 | Platform.getByte(base, offset + i) & 0xff;
        }
        return value;
    }

    private static MessageDigest md5() {
        try {
            return MessageDigest.getInstance("MD5");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java has it
        }
    }
}
