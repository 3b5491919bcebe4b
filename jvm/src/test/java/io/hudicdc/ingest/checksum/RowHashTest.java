package io.hudicdc.ingest.checksum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.LocalDate;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link RowHash} against the checksums of PostgreSQL 15, by the SQL of {@code ingest.sources.postgres}. */
class RowHashTest {
    private static final int INT = 0;
    private static final int BIGINT = 1;
    private static final int DOUBLE = 2;
    private static final int DATE = 3;
    private static final int BOOLEAN = 4;
    private static final int UUID = 5;
    private static final int TEXT = 6;

    private final RowHash row = new RowHash();

    @Test
    void aRowHasTheChecksumThatPostgresqlGivesIt() {
        check(-1, -1L, -0.0, "1999-12-31", false, "ffffffff-ffff-ffff-ffff-ffffffffffff", "a", -735508990568603978L);
        check(
                Integer.MIN_VALUE,
                Integer.MIN_VALUE - 1L,
                0.10000000000000002,
                "9999-12-31",
                false,
                "6f5a1a0e-2b2f-4bd5-8b1a-0123456789ac",
                "x".repeat(11),
                853812855912171422L);
        check(
                8,
                Long.MIN_VALUE,
                Double.NaN,
                "1970-01-01",
                false,
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
                "0123456789".repeat(20),
                2688948720700223513L);
        check(
                9,
                (1L << 32) + 1,
                -2.5,
                "2024-03-01",
                true,
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13",
                "x".repeat(13),
                1693161148101681483L);
    }

    @Test
    void aNullAddsNothing() {
        check(9, null, null, null, null, null, null, -7304068464769166460L);
        check(9, null, 0.0, null, null, null, null, 6113461062878802735L);
        check(9, 0L, null, null, null, null, null, -5062302964120110598L);
    }

    @Test
    void numbersThatPostgresqlFoldsAlikeHaveOtherHashes() {
        Set<Long> hashes = new HashSet<>();
        for (long number : new long[] {0, 4_294_967_297L, -1, -4_294_967_298L, 12_884_901_891L}) {
            row.beginRow();
            row.hashNumber(number, 7);
            hashes.add(row.postgresHash());
        }
        assertEquals(5, hashes.size());
    }

    @Test
    void aTextThatIsNotAUuidIsHashedAsText() {
        Set<Long> hashes = new HashSet<>();
        List<String> texts = List.of(
                "", "6f5a1a0e-2b2f-4bd5-8b1a-0123456789aX", "6f5a1a0e+2b2f-4bd5-8b1a-0123456789ab", "é".repeat(18));
        for (String text : texts) {
            row.beginRow();
            row.hashUuid(UTF8String.fromString(text), 7);
            long hash = row.postgresHash();
            row.beginRow();
            row.hashText(UTF8String.fromString(text), 7);
            assertEquals(row.postgresHash(), hash, text);
            hashes.add(hash);
        }
        assertEquals(texts.size(), hashes.size());
    }

    @Test
    void aTextIsHashedAlikeInTheBufferAndByItself() {
        for (int length = 0; length < 40; length++) {
            UTF8String text = UTF8String.fromString("0123456789".repeat(4).substring(0, length));
            row.beginRow();
            row.addText(text);
            row.hashText(5);
            long buffered = row.postgresHash();
            row.beginRow();
            row.hashText(text, 5);
            assertEquals(row.postgresHash(), buffered);
        }
    }

    private void check(
            Integer number,
            Long large,
            Double real,
            String date,
            Boolean isTrue,
            String uuid,
            String text,
            long expected) {
        row.beginRow();
        if (number != null) {
            row.hashNumber(number, row.seed(INT));
        }
        if (large != null) {
            row.hashNumber(large, row.seed(BIGINT));
        }
        if (real != null) {
            row.hashDouble(real, row.seed(DOUBLE));
        }
        if (date != null) {
            row.hashDate((int) LocalDate.parse(date).toEpochDay(), row.seed(DATE));
        }
        if (isTrue != null) {
            row.hashBoolean(isTrue, row.seed(BOOLEAN));
        }
        if (uuid != null) {
            row.hashUuid(UTF8String.fromString(uuid), row.seed(UUID));
        }
        if (text != null) {
            row.hashText(UTF8String.fromString(text), row.seed(TEXT));
        }
        assertEquals(expected, row.postgresHash());
    }
}
