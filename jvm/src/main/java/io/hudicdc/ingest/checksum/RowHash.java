package io.hudicdc.ingest.checksum;

import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A checksum of one row after the other: the hashes of its columns, joined by exclusive or, as text hashed again.
 *
 * <p>A column's hash is that of PostgreSQL for its type, or for its text, with a seed from the column's number. A null adds
 * nothing. The last hash keeps sums over rows apart: without it, two rows that exchange a value could have the same sum.
 */
public final class RowHash extends RowText {
    private static final int UUID_CHARS = 36;
    private static final int DAYS_TO_2000 = 10_957;

    private static final byte[] DIGITS = new byte[256];

    static {
        for (int letter = 0; letter < DIGITS.length; letter++) {
            DIGITS[letter] = (byte) Character.digit(letter < 128 ? letter : 0, 16);
        }
    }

    private final byte[] uuid = new byte[16];
    private long joined;

    /** Begin a row. */
    public void beginRow() {
        joined = 0;
        begin();
    }

    /** Return the seed of a column: one that no other columns join to. */
    long seed(int column) {
        return hashInt(column, 0);
    }

    /** Join the hash of the text that was appended. */
    public void hashText(long seed) {
        joined ^= postgresHash(seed);
    }

    /** Join the hash of a text. */
    public void hashText(UTF8String text, long seed) {
        joined ^= Checksums.postgresHash(text.getBaseObject(), text.getBaseOffset(), text.numBytes(), seed);
    }

    /**
     * Join the hash of a whole number: {@code hashint4extended}, which is {@code hashint8extended} of the same value.
     * The latter folds larger numbers into 32 bits; the hash of their higher half tells these apart.
     */
    public void hashNumber(long number, long seed) {
        int low = (int) number;
        int high = (int) (number >> Integer.SIZE);
        if (low == number) {
            joined ^= hashInt(low, seed);
        } else {
            joined ^= hashInt(low ^ (number >= 0 ? high : ~high), seed) ^ hashInt(high, ~seed);
        }
    }

    /** Join the hash of a day since 1970: {@code hashint4extended} of the days since 2000. */
    public void hashDate(int day, long seed) {
        joined ^= hashInt(day - DAYS_TO_2000, seed);
    }

    /** Join the hash of a boolean as a number. */
    public void hashBoolean(boolean isTrue, long seed) {
        joined ^= hashInt(isTrue ? 1 : 0, seed);
    }

    /** Join {@code hashfloat8extended}: negative zero is zero, and every NaN the same. */
    public void hashDouble(double number, long seed) {
        long bits = Double.doubleToLongBits(number);
        int high = (int) (bits >>> Integer.SIZE);
        joined ^= number == 0 ? seed : Checksums.postgresHash((int) bits, high, Long.BYTES, seed);
    }

    /** Join {@code uuid_hash_extended} of a UUID's text; of a text that is not one the hash of the text. */
    public void hashUuid(UTF8String text, long seed) {
        int count = 0;
        for (int at = 0; text.numBytes() == UUID_CHARS && at < UUID_CHARS; at++) {
            byte letter = Platform.getByte(text.getBaseObject(), text.getBaseOffset() + at);
            if (at == 8 || at == 13 || at == 18 || at == 23) {
                if (letter != '-') {
                    break;
                }
                continue;
            }
            int digit = DIGITS[letter & 0xff];
            if (digit < 0) {
                break;
            }
            uuid[count / 2] = (byte) (uuid[count / 2] << 4 | digit);
            count++;
        }
        if (count == 2 * uuid.length) {
            joined ^= Checksums.postgresHash(uuid, Platform.BYTE_ARRAY_OFFSET, uuid.length, seed);
        } else {
            hashText(text, seed);
        }
    }

    /** Return the checksum of the row. */
    public long postgresHash() {
        begin();
        addNumber(joined);
        return postgresHash(0);
    }

    private static long hashInt(int number, long seed) {
        return Checksums.postgresHash(number, 0, Integer.BYTES, seed);
    }
}
