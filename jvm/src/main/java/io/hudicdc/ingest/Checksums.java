package io.hudicdc.ingest;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.apache.spark.unsafe.types.UTF8String;

/** Checksums of texts, as databases compute them in SQL. */
public final class Checksums {
    private static final int UNREAD_BITS = 8;
    private static final int BLOCK = 12;
    private static final int INITIAL = 0x9e3779b9 + 3923095;
    private static final ThreadLocal<MessageDigest> MD5 = ThreadLocal.withInitial(Checksums::md5);

    private Checksums() {}

    /** Return the first 56 bits of the MD5 digest of a text. */
    public static long md5Number(UTF8String text) {
        byte[] digest = MD5.get().digest(text.getBytes());
        return ByteBuffer.wrap(digest).getLong() >>> UNREAD_BITS;
    }

    /**
     * Return what PostgreSQL's {@code hashtextextended(text, 0)} returns on a little-endian machine for a text in
     * UTF-8 with a deterministic collation: {@code hash_bytes_extended} of {@code src/common/hashfn.c}, since 11.
     */
    public static long postgresHash(UTF8String text) {
        byte[] key = text.getBytes();
        int a = INITIAL + key.length;
        int b = a;
        int c = a;
        int at = 0;
        for (; key.length - at >= BLOCK; at += BLOCK) {
            a += word(key, at);
            b += word(key, at + 4);
            c += word(key, at + 8);
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
        a += rest(key, at);
        b += rest(key, at + 4);
        c += rest(key, at + 8) << 8; // its lowest octet is reserved for the length
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
        return key[at] & 0xff | (key[at + 1] & 0xff) << 8 | (key[at + 2] & 0xff) << 16 | key[at + 3] << 24;
    }

    /** Return up to four octets at an index, as many as there are. */
    private static int rest(byte[] key, int at) {
        int value = 0;
        for (int i = Math.min(at + 3, key.length - 1); i >= at; i--) {
            value = value << 8 | key[i] & 0xff;
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
