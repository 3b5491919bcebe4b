package io.hudicdc.ingest.checksum;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * {@code ingest_hash(text, id)}: HMAC-SHA256 of a text, as hexadecimal digits, keyed by the salt of that id.
 *
 * <p>A query's text and plan show the id only; the salt travels to the executors within the plan's objects.
 */
public final class SaltedHash implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final String ALGORITHM = "SHA-256";
    private static final int BLOCK_BYTES = 64;
    private static final byte INNER = 0x36;
    private static final byte OUTER = 0x5c;
    private static final Map<String, SaltedHash> BY_ID = new ConcurrentHashMap<>();
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private final String id;
    private final byte[] salt;
    private transient MessageDigest inner;
    private transient MessageDigest outer;

    private SaltedHash(String id, byte[] salt) {
        this.id = id;
        this.salt = salt.clone();
    }

    /** Make a salt known to the driver, under its id. */
    public static void keep(String id, byte[] salt) {
        BY_ID.put(id, new SaltedHash(id, salt));
    }

    /** Register the function in one session. */
    public static void register(SparkSession session) {
        Function1<Seq<Expression>, Expression> builder = children -> invoke(JavaConverters.seqAsJavaList(children));
        session.sessionState().functionRegistry().createOrReplaceTempFunction("ingest_hash", builder, "scala_udf");
    }

    private static Expression invoke(List<Expression> children) {
        String id = ((Literal) children.get(1)).value().toString();
        SaltedHash hash = BY_ID.get(id);
        if (hash == null) {
            throw new IllegalStateException("the salt " + id + " is not known in this JVM");
        }
        List<Expression> arguments = List.of(children.get(0));
        List<AbstractDataType> types = List.of(DataTypes.StringType);
        return new Invoke(
                new Literal(hash, new ObjectType(SaltedHash.class)),
                "hash",
                DataTypes.StringType,
                JavaConverters.asScalaBuffer(arguments).toList(),
                JavaConverters.asScalaBuffer(types).toList(),
                true,
                true,
                true);
    }

    /**
     * Return the hash of a text.
     *
     * <p>By RFC 2104, from digests that have read the salt: {@code Mac} reads it twice for each text, half of the work.
     */
    public synchronized UTF8String hash(UTF8String text) throws NoSuchAlgorithmException, CloneNotSupportedException {
        if (outer == null) {
            inner = started(INNER);
            outer = started(OUTER);
        }
        MessageDigest last = (MessageDigest) outer.clone();
        byte[] digest = last.digest(((MessageDigest) inner.clone()).digest(text.getBytes()));
        byte[] digits = new byte[2 * digest.length];
        for (int at = 0; at < digest.length; at++) {
            digits[2 * at] = DIGITS[(digest[at] >> 4) & 0xF];
            digits[2 * at + 1] = DIGITS[digest[at] & 0xF];
        }
        return UTF8String.fromBytes(digits);
    }

    private MessageDigest started(byte pad) throws NoSuchAlgorithmException {
        MessageDigest digest = MessageDigest.getInstance(ALGORITHM);
        byte[] key = Arrays.copyOf(salt.length > BLOCK_BYTES ? digest.digest(salt) : salt, BLOCK_BYTES);
        for (int at = 0; at < BLOCK_BYTES; at++) {
            key[at] ^= pad;
        }
        digest.update(key);
        return digest;
    }

    /** Show the id, never the salt: plans and their logs contain this text. */
    @Override
    public String toString() {
        return "salt " + id;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SaltedHash && id.equals(((SaltedHash) other).id);
    }

    @Override
    public int hashCode() {
        return id.hashCode();
    }
}
