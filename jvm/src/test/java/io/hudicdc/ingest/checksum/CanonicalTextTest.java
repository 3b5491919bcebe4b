package io.hudicdc.ingest.checksum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.Random;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link CanonicalText} against {@code java.time}, and the other texts and numbers of a comparison. */
class CanonicalTextTest {
    private static final long YEAR_1 = micros("0001-01-01T00:00:00");
    private static final long YEAR_10000 = micros("9999-12-31T23:59:59.999999") + 1;
    private static final DateTimeFormatter FORMAT = new DateTimeFormatterBuilder()
            .appendPattern("uuuu-MM-dd HH:mm:ss")
            .appendFraction(ChronoField.MICRO_OF_SECOND, 0, 6, true)
            .toFormatter();

    @Test
    void timestampsAreWrittenAsByJavaTime() {
        for (long micros : new long[] {YEAR_1, YEAR_10000 - 1, 0, -1, 1, 10, 1_000_000, 86_400_000_000L}) {
            checkTimestamp(micros);
        }
        Random random = new Random(3);
        for (int round = 0; round < 20_000; round++) {
            long day = Math.floorMod(random.nextLong(), 3_652_059L) - 719_162;
            checkTimestamp(day * 86_400_000_000L + Math.floorMod(random.nextLong(), 86_400_000_000L));
            checkTimestamp(day * 86_400_000_000L);
        }
    }

    @Test
    void aTimestampOutsideTheYears1To9999IsItsCount() {
        assertEquals(
                Long.toString(YEAR_1 - 1), CanonicalText.timestamp(YEAR_1 - 1).toString());
        assertEquals(
                Long.toString(YEAR_10000), CanonicalText.timestamp(YEAR_10000).toString());
    }

    @Test
    void numbersAreWrittenByValue() {
        assertEquals("1200", number("1.2E+3"));
        assertEquals("0.0000001", number("0.0000001000"));
        assertEquals("0", number("-0.00"));
        assertEquals("-7", number("-7"));
    }

    @Test
    void floatingPointIsItsBitsAndNegativeZeroIsZero() {
        assertEquals("4591870180066957722", CanonicalText.doubleBits(0.1).toString());
        assertEquals(
                "4591870180066957723",
                CanonicalText.doubleBits(Math.nextUp(0.1)).toString());
        assertEquals("0", CanonicalText.doubleBits(-0.0).toString());
        assertEquals("1069547520", CanonicalText.floatBits(1.5f).toString());
        assertEquals("0", CanonicalText.floatBits(-0.0f).toString());
    }

    @Test
    void theFirst56BitsOfAnMd5AreANumber() {
        // md5('') = d41d8cd98f00b204…, md5('The quick brown fox …') = 9e107d9d372bb682…, of RFC 1321 and Wikipedia
        assertEquals(0xd41d8cd98f00b2L, Checksums.md5Number(UTF8String.EMPTY_UTF8));
        String fox = "The quick brown fox jumps over the lazy dog";
        assertEquals(0x9e107d9d372bb6L, Checksums.md5Number(UTF8String.fromString(fox)));
        assertEquals(
                0x9e107d9d372bb6L, Checksums.md5Number((fox + "!").getBytes(StandardCharsets.US_ASCII), fox.length()));
    }

    @Test
    void aBoundBelongsToTheRangeAboveIt() {
        GenericArrayData bounds = new GenericArrayData(new long[] {Long.MIN_VALUE, -5, 10, Long.MAX_VALUE});
        long[] numbers = {Long.MIN_VALUE, -6, -5, 9, 10, Long.MAX_VALUE - 1, Long.MAX_VALUE};
        int[] ranges = {1, 1, 2, 2, 3, 3, 4};
        for (int i = 0; i < numbers.length; i++) {
            assertEquals(ranges[i], Ranges.find(numbers[i], bounds), Long.toString(numbers[i]));
        }
        assertEquals(0, Ranges.find(0, new GenericArrayData(new long[0])));
    }

    private static void checkTimestamp(long micros) {
        LocalDateTime time = LocalDateTime.ofEpochSecond(
                Math.floorDiv(micros, 1_000_000L), (int) Math.floorMod(micros, 1_000_000L) * 1_000, ZoneOffset.UTC);
        assertEquals(FORMAT.format(time), CanonicalText.timestamp(micros).toString());
    }

    private static String number(String text) {
        return CanonicalText.number(UTF8String.fromString(text)).toString();
    }

    private static long micros(String time) {
        LocalDateTime parsed = LocalDateTime.parse(time);
        return parsed.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + parsed.getNano() / 1_000;
    }
}
