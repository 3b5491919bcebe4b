package io.hudicdc.ingest.checksum;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link RowText} against {@code BigDecimal} and {@link CanonicalText}. */
class RowTextTest {
    private final RowText row = new RowText();

    @Test
    void aRowIsItsPartsBetweenCommas() {
        row.begin();
        row.addBoolean(true);
        row.next();
        row.next(); // null
        row.addDate(-719_162);
        row.next();
        row.addBinary(new byte[] {0, (byte) 0xff});
        row.next();
        row.addText(UTF8String.fromString("1:x"));
        row.next();
        row.addFreeText(UTF8String.fromString("a,é"));
        assertEquals("true,,0001-01-01,x00ff,1:x,4:a,é", row.text().toString());
    }

    @Test
    void theNextRowBeginsEmpty() {
        row.begin();
        row.addNumber(7);
        row.begin();
        assertEquals("", row.text().toString());
    }

    @Test
    void wholeNumbersAreWrittenByTheirDigits() {
        for (long edge : new long[] {0, 9, 10, 99, 99_999_999, 100_000_000, 1_000_000_000_000_000_000L}) {
            checkNumber(edge - 1);
            checkNumber(edge);
            checkNumber(-edge);
        }
        checkNumber(Long.MAX_VALUE);
        checkNumber(Long.MIN_VALUE);
        Random random = new Random(1);
        for (int round = 0; round < 10_000; round++) {
            checkNumber(random.nextLong() >> random.nextInt(Long.SIZE));
        }
    }

    @Test
    void decimalsHaveAllDigitsOfTheirScale() {
        Random random = new Random(2);
        for (int round = 0; round < 20_000; round++) {
            int precision = 1 + random.nextInt(38);
            int scale = random.nextInt(precision + 1);
            BigInteger bound = BigInteger.TEN.pow(precision);
            BigInteger unscaled = new BigInteger(random.nextInt(130), random).mod(bound);
            BigDecimal value = new BigDecimal(random.nextBoolean() ? unscaled : unscaled.negate(), scale);
            assertEquals(
                    value.toPlainString(), written(text -> text.addDecimal(Decimal.apply(value, precision, scale))));
        }
    }

    @Test
    void floatingPointIsWrittenByItsBits() {
        for (double number : new double[] {0.1, -0.0, 0.0, Double.NaN, Double.NEGATIVE_INFINITY, Double.MIN_VALUE}) {
            assertEquals(CanonicalText.doubleBits(number).toString(), written(text -> text.addDouble(number)));
            assertEquals(
                    CanonicalText.floatBits((float) number).toString(), written(text -> text.addFloat((float) number)));
        }
    }

    @Test
    void timestampsAreThoseOfTheCanonicalText() {
        Random random = new Random(3);
        for (int round = 0; round < 10_000; round++) {
            long micros = random.nextLong() >> random.nextInt(Long.SIZE);
            assertEquals(CanonicalText.timestamp(micros).toString(), written(text -> text.addTimestamp(micros)));
        }
    }

    @Test
    void aDateOutsideTheYears1To9999IsItsCount() {
        assertEquals("9999-12-31", written(text -> text.addDate(2_932_896)));
        assertEquals("2932897", written(text -> text.addDate(2_932_897)));
        assertEquals("-719163", written(text -> text.addDate(-719_163)));
    }

    @Test
    void daysThatShareASlotAreKeptApart() {
        assertEquals("1970-01-01", written(text -> text.addDate(0)));
        assertEquals("1970-09-14", written(text -> text.addDate(256)));
        assertEquals("1970-01-01", written(text -> text.addDate(0)));
    }

    @Test
    void aRowLongerThanItsBufferIsWhole() {
        String longText = "é".repeat(5_000);
        row.begin();
        row.addFreeText(UTF8String.fromString(longText));
        row.next();
        row.addNumber(7);
        row.next();
        row.addBinary(new byte[20_000]);
        assertEquals(
                "10000:" + longText + ",7,x" + "00".repeat(20_000), row.text().toString());
    }

    private void checkNumber(long number) {
        assertEquals(Long.toString(number), written(text -> text.addNumber(number)));
    }

    private String written(Consumer<RowText> adding) {
        row.begin();
        adding.accept(row);
        return row.text().toString();
    }
}
