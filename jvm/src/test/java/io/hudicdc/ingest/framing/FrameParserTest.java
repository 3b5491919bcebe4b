package io.hudicdc.ingest.framing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hudicdc.ingest.spark.LargeRecord;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.zip.DeflaterOutputStream;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link FrameParser}, {@link Frame} and {@link Framings}; tests/decode/test_framings.py has recorded messages. */
class FrameParserTest {
    private static final byte[] BODY = "record".getBytes(StandardCharsets.US_ASCII);
    private static final UUID GUID = new UUID(0x8000000000000000L, 7);
    private static final String CONFLUENT = "confluent";
    private static final String GLOBAL_8 = "apicurio-8-byte-global-id";
    private static final String CONTENT_8 = "apicurio-8-byte-content-id";
    private static final String GLOBAL_4 = "apicurio-4-byte-global-id";

    @Test
    void eachFramingIsFoundByItsFirstBytes() throws UnusableFrame {
        check(CONFLUENT, "id 4294967295", bytes(0, intBytes(-1)), CONFLUENT);
        check("confluent-guid", "GUID " + GUID, bytes(1, uuidBytes()), CONFLUENT);
        check("glue", "schemaVersionId " + GUID, bytes(3, bytes(0, uuidBytes())), CONFLUENT);
        check(GLOBAL_8, "globalId 40", bytes(0, longBytes(40)), CONFLUENT);
        check(CONTENT_8, "contentId 40", bytes(0, longBytes(40)), CONFLUENT, CONTENT_8);
        check(GLOBAL_4, "globalId 9", bytes(0, intBytes(9)), GLOBAL_4);
    }

    @Test
    void anIdBeyondFourBytesIsReadWhereNoOtherIdHasFour() throws UnusableFrame {
        byte[] message = bytes(0, longBytes((1L << 33) + 1));
        check(GLOBAL_8, "globalId 8589934593", message, GLOBAL_8);
        check(CONFLUENT, "id 2", message, GLOBAL_8, CONFLUENT);
    }

    @Test
    void headersWinOverTheFirstBytesAndTheLastHeaderOfANameCounts() throws UnusableFrame {
        ArrayData headers = headers("__value_schema_id", BODY, "__value_schema_id", bytes(1, uuidBytes()));
        Frame frame = parser(CONFLUENT).parse(bytes(0, intBytes(5)), headers);
        assertEquals("confluent-headers", frame.framing());
        assertEquals("GUID " + GUID, frame.schema());
        assertEquals(
                "id 5",
                parser(CONFLUENT)
                        .parse(BODY, headers("__value_schema_id", bytes(0, intBytes(5))))
                        .schema());
        assertEquals(
                "contentId 6",
                parser(CONFLUENT)
                        .parse(
                                BODY,
                                headers(
                                        "apicurio.value.globalId",
                                        longBytes(5),
                                        "apicurio.value.contentId",
                                        longBytes(6)))
                        .schema());
    }

    @Test
    void nullHeadersAndHeadersOfTheOtherSideMeanNothing() throws UnusableFrame {
        ArrayData headers = headers("__value_schema_id", null, "__key_schema_id", BODY, "apicurio.key.globalId", BODY);
        assertEquals(
                "id 5", parser(CONFLUENT).parse(bytes(0, intBytes(5)), headers).schema());
    }

    @Test
    void aFrameThatCannotBeReadSaysWhy() {
        refuses("empty payload", new byte[0], null);
        refuses("magic byte 0x02 is not that of a framing", new byte[] {2}, null);
        refuses("4 bytes are too few for a schema id", new byte[4], null);
        refuses("16 bytes are too few for a schema GUID", Arrays.copyOf(bytes(1, uuidBytes()), 16), null);
        refuses("17 bytes are too few for Glue's header", Arrays.copyOf(bytes(3, bytes(0, uuidBytes())), 17), null);
        refuses("Glue's compression byte 0x01 is neither 0x00 nor 0x05", bytes(3, bytes(1, uuidBytes())), null);
        refuses(
                "the 0 bytes of the header __value_schema_id are not a schema id",
                BODY,
                headers("__value_schema_id", new byte[0]));
        refuses(
                "the 4 bytes of the header apicurio.value.globalId are not a schema id",
                BODY,
                headers("apicurio.value.globalId", new byte[4]));
        refuses(
                "the headers of two registries, __value_schema_id and apicurio.*",
                BODY,
                headers("__value_schema_id", new byte[5], "apicurio.value.globalId", longBytes(1)));
        refuses(
                "encoding JSON in the header apicurio.value.encoding, allowed: BINARY",
                BODY,
                headers("apicurio.value.globalId", longBytes(1), "apicurio.value.encoding", "JSON".getBytes()));
    }

    @Test
    void aCompressedRecordIsInflatedBehindConfluentsHeader() throws Exception {
        byte[] message = bytes(3, bytes(5, concat(uuidBytes(), deflated(BODY))));
        Frame frame = parser("glue").parse(message, null);
        assertArrayEquals(concat(bytes(0, intBytes(7)), BODY), frame.reframed(message, 7));
        byte[] cut = Arrays.copyOf(message, message.length - 6);
        assertEquals(
                "the zlib data is cut off",
                assertThrows(UnusableFrame.class, () -> frame.reframed(cut, 7)).getMessage());
        byte[] longer = concat(message, new byte[2]);
        assertEquals(
                "2 bytes are left over behind the zlib data",
                assertThrows(UnusableFrame.class, () -> frame.reframed(longer, 7))
                        .getMessage());
    }

    @Test
    void aRecordThatInflatesBeyondTheLimitIsRefused() throws Exception {
        byte[] bomb = bytes(3, bytes(5, concat(uuidBytes(), deflated(new byte[Frame.MAX_INFLATED_BYTES + 1]))));
        Frame frame = parser("glue").parse(bomb, null);
        String error =
                assertThrows(UnusableFrame.class, () -> frame.reframed(bomb, 7)).getMessage();
        assertEquals("inflates to more than 67108864 bytes, the limit", error);
    }

    @Test
    void aMessageIsReframedByTheIdOfItsSchema() {
        Framings framings = new Framings("value", List.of("confluent-guid"), List.of("GUID " + GUID), List.of(9));
        byte[] message = concat(bytes(1, uuidBytes()), BODY);
        assertArrayEquals(concat(bytes(0, intBytes(9)), BODY), framings.unframed(message, null));
    }

    @Test
    void aMessageInConfluentsFramingStaysAsItIs() {
        byte[] message = concat(bytes(0, intBytes(9)), BODY);
        assertSame(message, framings(CONFLUENT).unframed(message, null));
    }

    @Test
    void theReasonFollowsAByteThatNoFramingHas() {
        assertMarked('u', "GUID " + GUID, framings("confluent-guid").unframed(bytes(1, uuidBytes()), null));
        assertMarked(
                'f',
                "framing glue is not expected; framings in the table file allows: confluent",
                framings(CONFLUENT).unframed(bytes(3, bytes(0, uuidBytes())), null));
    }

    @Test
    void aRecordThatIsTooLargeKeepsItsMark() {
        byte[] marked = LargeRecord.marked(123);
        assertSame(marked, framings(CONFLUENT).unframed(marked, null));
    }

    private static void assertMarked(char code, String text, byte[] actual) {
        assertEquals((byte) 0xff, actual[0]);
        assertEquals(code, actual[1]);
        assertEquals(text, new String(actual, 2, actual.length - 2, StandardCharsets.UTF_8));
    }

    private static void check(String framing, String schema, byte[] header, String... expected) throws UnusableFrame {
        byte[] message = concat(header, BODY);
        Frame frame = parser(expected).parse(message, null);
        assertEquals(framing, frame.framing());
        assertEquals(schema, frame.schema());
        boolean isWhole = schema.equals("id 2"); // eight bytes that are read as four
        assertTrue(isWhole || Arrays.equals(concat(bytes(0, intBytes(1)), BODY), frame.reframed(message, 1)));
    }

    private static void refuses(String error, byte[] message, ArrayData headers) {
        UnusableFrame refused =
                assertThrows(UnusableFrame.class, () -> parser(CONFLUENT).parse(message, headers));
        assertEquals(error, refused.getMessage());
    }

    private static FrameParser parser(String... expected) {
        return new FrameParser(framings(expected), "value");
    }

    private static Framings framings(String... expected) {
        return new Framings("value", List.of(expected), List.of(), List.of());
    }

    private static ArrayData headers(Object... namesAndValues) {
        Object[] rows = new Object[namesAndValues.length / 2];
        for (int i = 0; i < rows.length; i++) {
            UTF8String name = UTF8String.fromString((String) namesAndValues[2 * i]);
            rows[i] = new GenericInternalRow(new Object[] {name, namesAndValues[2 * i + 1]});
        }
        return new GenericArrayData(rows);
    }

    private static byte[] deflated(byte[] record) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (DeflaterOutputStream deflater = new DeflaterOutputStream(out)) {
            deflater.write(record);
        }
        return out.toByteArray();
    }

    private static byte[] bytes(int first, byte[] rest) {
        return concat(new byte[] {(byte) first}, rest);
    }

    private static byte[] concat(byte[] left, byte[] right) {
        return ByteBuffer.allocate(left.length + right.length)
                .put(left)
                .put(right)
                .array();
    }

    private static byte[] intBytes(int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    }

    private static byte[] longBytes(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    private static byte[] uuidBytes() {
        return concat(longBytes(GUID.getMostSignificantBits()), longBytes(GUID.getLeastSignificantBits()));
    }
}
