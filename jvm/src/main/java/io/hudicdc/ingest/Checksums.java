package io.hudicdc.ingest;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.apache.spark.unsafe.types.UTF8String;

/** Checksums of texts, as databases compute them in SQL. */
public final class Checksums {
    /** The zeros behind the octets to hash. */
    static final int PADDING = 12;

    private static final int UNREAD_BITS = 8;
    private static final int BLOCK = PADDING;
    private static final int INITIAL = 0x9e3779b9 + 3923095;
    private static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
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
     * Return what PostgreSQL's {@code hashtextextended(text, seed)} returns on a little-endian machine for the first
     * octets of an array, a text in UTF-8 with a deterministic collation: {@code hash_bytes_extended} of {@code
     * src/common/hashfn.c}, since 11.
     *
     * @param key the octets, and at least {@link #PADDING} zeros behind them
     */
    static long postgresHash(byte[] key, int length, long seed) {
        int a = INITIAL + length;
        int b = a;
        int c = a;
        int at = seed == 0 ? 0 : -BLOCK; // a seed is a block in front of the others
        for (; length - at >= BLOCK; at += BLOCK) {
            a += at < 0 ? (int) (seed >>> 32) : word(key, at);
            b += at < 0 ? (int) seed : word(key, at + 4);
            c += at < 0 ? 0 : word(key, at + 8);
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
        a += word(key, at);
        b += word(key, at + 4);
        c += word(key, at + 8) << 8; // its lowest octet is reserved for the length
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

    /** Return the four octets at an index, the lowest one first. */
    private static int word(byte[] key, int at) {
        return (int) WORDS.get(key, at);
    }

    private static MessageDigest md5() {
        try {
            return MessageDigest.getInstance("MD5");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java has it
        }
    }
}
