package io.hudicdc.ingest;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.api.java.UDF2;

/** {@code ingest_plain_decimal(scale, unscaled)}: the number in plain notation, with any number of digits. */
public final class PlainDecimal implements UDF2<Number, byte[], String> {
    private static final long serialVersionUID = 1L;

    @Override
    public String call(Number scale, byte[] unscaled) {
        if (scale == null || unscaled == null || unscaled.length == 0) {
            return null;
        }
        return new BigDecimal(new BigInteger(unscaled), scale.intValue()).toPlainString();
    }
}
