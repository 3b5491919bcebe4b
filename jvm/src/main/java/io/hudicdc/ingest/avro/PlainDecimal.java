package io.hudicdc.ingest.avro;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.api.java.UDF2;

/** {@code ingest_plain_decimal(scale, unscaled)}: the number in plain notation, with any number of digits. */
public final class PlainDecimal implements UDF2<Number, byte[], String> {
    private static final long serialVersionUID = 1L;

    /** The bounds of {@code ingest.typemap.decimals}: plain notation writes a digit for each step of the scale. */
    private static final int MIN_SCALE = -1_000;

    private static final int MAX_SCALE = 16_383;

    /** The bytes of 147,455 digits. */
    private static final int MAX_BYTES = 61_230;

    @Override
    public String call(Number scale, byte[] unscaled) {
        if (scale == null || unscaled == null || unscaled.length == 0) {
            return null;
        }
        if (scale.longValue() < MIN_SCALE || scale.longValue() > MAX_SCALE || unscaled.length > MAX_BYTES) {
            return null; // the caller tests for it
        }
        return new BigDecimal(new BigInteger(unscaled), scale.intValue()).toPlainString();
    }
}
