package io.hudicdc.ingest.time;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.ZoneOffset;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.Option;

/** {@link Instants} against Spark's own parser, for texts that begin with a year and are not padded. */
class InstantsTest {
    private static final List<String> DATES = List.of(
            "0000-01-01",
            "0001-01-01",
            "1582-10-10",
            "1700-02-29",
            "1899-12-31",
            "1969-12-31",
            "1970-01-01",
            "2000-02-29",
            "2023-02-29",
            "2024-02-29",
            "2024-02-30",
            "2024-04-31",
            "2024-12-31",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-01-32",
            "9999-12-31",
            "2024-1-1",
            "+12024-01-01",
            "-0001-01-01",
            "20x4-01-01");
    private static final List<String> TIMES = List.of(
            "00:00:00",
            "23:59:59",
            "24:00:00",
            "12:60:00",
            "12:00:60",
            "12:34:56.1",
            "12:34:56.123456",
            "12:34:56.123456789",
            "12:34:56.1234567891",
            "12:34:56.",
            "12:34:56.x",
            "12:34",
            "1:2:3",
            "12-34-56");
    private static final List<String> ZONES = List.of(
            "",
            "Z",
            "z",
            "+00:00",
            "-00:00",
            "+02:00",
            "-11:30",
            "+14:00",
            "+17:59",
            "-17:59",
            "+18:00",
            "+18:01",
            "+05:60",
            "-19:00",
            "+5x:00",
            "+5:00",
            "+0500",
            "+05",
            "+05:30:15",
            "Q",
            "+Z",
            "Zx",
            " Z",
            "Z ",
            "-08:0 ",
            "UTC",
            "Europe/Berlin",
            "ä");

    @Test
    void everyFormGivesTheMomentThatSparkGives() {
        for (String date : DATES) {
            for (String time : TIMES) {
                for (String zone : ZONES) {
                    check(date + "T" + time + zone);
                    check(date + " " + time + zone);
                }
            }
        }
        List.of("", " ", "T", "infinity", "now", "epoch", "12:00:00Z", "  2024-01-01T00:00:00Z ")
                .forEach(InstantsTest::check);
        List.of(DATES, TIMES, ZONES).forEach(texts -> texts.forEach(InstantsTest::check));
    }

    @Test
    void damagedTextsDoToo() {
        String whole = "2024-03-09T12:34:56.1234567+02:00";
        String pieces = "0123456789-+:.TZ äx\t\0";
        Random random = new Random(1);
        for (int round = 0; round < 50_000; round++) {
            StringBuilder text = new StringBuilder(whole);
            for (int change = random.nextInt(3); change >= 0; change--) {
                int from = random.nextInt(text.length() + 1);
                int to = Math.min(text.length(), from + random.nextInt(3));
                int piece = random.nextInt(pieces.length());
                text.replace(from, to, pieces.substring(piece, piece + random.nextInt(2)));
            }
            check(text.toString());
        }
    }

    @Test
    void textIsReadAsDebeziumWritesIt() {
        UTF8String text = UTF8String.fromString("2024-03-09T12:34:56.1234567+02:00");
        assertEquals(1_709_980_496_123_456L, Instants.micros(text));
    }

    private static void check(String text) {
        UTF8String bytes = UTF8String.fromString(text);
        boolean hasYear = bytes.numBytes() > 4 && bytes.getBytes()[4] == '-';
        boolean isPadded = text.endsWith(" ") || text.chars().anyMatch(character -> character < ' ');
        Option<Object> expected =
                hasYear && !isPadded ? DateTimeUtils.stringToTimestamp(bytes, ZoneOffset.UTC) : Option.empty();
        assertEquals(expected.isDefined() ? expected.get() : null, Instants.micros(bytes), text);
    }
}
