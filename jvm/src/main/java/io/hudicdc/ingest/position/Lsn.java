package io.hudicdc.ingest.position;

import org.apache.spark.unsafe.types.UTF8String;

/** A log sequence number of SQL Server: {@code xxxxxxxx:xxxxxxxx:xxxx} (debezium: sqlserver/Lsn.java). */
public final class Lsn {
    private static final String FORM = "xxxxxxxx:xxxxxxxx:xxxx";

    private Lsn() {}

    /** Whether a text is an LSN in lower-case hexadecimal digits, or consists of zeros: Flink CDC writes 00 for none. */
    public static boolean isLsn(UTF8String text) {
        int length = text.numBytes();
        boolean isFull = length == FORM.length();
        for (int at = 0; at < length; at++) {
            byte letter = PaddedText.at(text, at);
            boolean isColon = isFull && FORM.charAt(at) == ':';
            if (isColon ? letter != ':' : !isDigit(letter, isFull)) {
                return false;
            }
        }
        return length > 0 && length <= FORM.length();
    }

    private static boolean isDigit(byte letter, boolean isFull) {
        return isFull ? PaddedText.isHexDigit(letter) : letter == '0';
    }
}
