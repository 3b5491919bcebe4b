package io.hudicdc.ingest.avro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

/** {@link AvroDecoder} over records of Avro's own writer. */
class AvroDecoderTest {
    private static final String OLD = record("{\"name\": \"id\", \"type\": \"int\"}");
    private static final String NEW =
            record("{\"name\": \"text\", \"type\": [\"null\", \"string\"]}, {\"name\": \"id\", \"type\": \"long\"},"
                    + " {\"name\": \"nulls\", \"type\": {\"type\": \"array\", \"items\": \"null\"}}");
    private static final String READER = record("{\"name\": \"id\", \"type\": [\"null\", \"long\"]},"
            + " {\"name\": \"text\", \"type\": [\"null\", \"string\"], \"default\": null}");
    private static final int OLD_ID = 7;
    private static final int NEW_ID = -8; // ids are unsigned

    private final AvroDecoder decoder = new AvroDecoder(READER, List.of(OLD_ID, NEW_ID), List.of(OLD, NEW), 10_000);

    @Test
    void recordsOfAllWritersAreReadInTheReadersSchema() throws IOException {
        InternalRow old = value(message(OLD_ID, OLD, builder(OLD).set("id", -5)));
        assertEquals(-5, old.getLong(0));
        assertTrue(old.isNullAt(1));
        InternalRow current = value(current("é", List.of()));
        assertEquals(1L << 40, current.getLong(0));
        assertEquals("é", current.getUTF8String(1).toString());
    }

    @Test
    void aMessageOfAnUnknownSchemaIsNull() throws IOException {
        byte[] message = message(9, OLD, builder(OLD).set("id", 1));
        assertNull(decoder.decode(message));
        assertNull(decoder.decode(Arrays.copyOf(message, 4)));
        message[0] = 1;
        assertNull(decoder.decode(message));
    }

    @Test
    void aMessageThatIsNotExactlyOneRecordIsNotWhole() throws IOException {
        byte[] message = current("text", List.of());
        for (int size = 5; size <= message.length + 1; size++) {
            InternalRow decoded = decoder.decode(Arrays.copyOf(message, size));
            assertEquals(size == message.length, decoded.getBoolean(1));
            assertEquals(size != message.length, decoded.isNullAt(0));
        }
    }

    @Test
    void aRecordThatIsTooLargeWhenDecodedIsNeitherWholeNorNot() {
        AvroDecoder small = new AvroDecoder(READER, List.of(OLD_ID), List.of(OLD), 100);
        InternalRow decoded = small.decode(new byte[] {0, 0, 0, 0, OLD_ID, 1});
        assertTrue(decoded.isNullAt(0));
        assertTrue(decoded.isNullAt(1));
    }

    @Test
    void skippedElementsTakeNoMemory() throws IOException {
        assertFalse(
                decoder.decode(current("x", Collections.nCopies(60_000, null))).isNullAt(0));
    }

    private InternalRow value(byte[] message) {
        InternalRow decoded = decoder.decode(message);
        assertTrue(decoded.getBoolean(1));
        return decoded.getStruct(0, 2);
    }

    private static byte[] current(String text, List<?> nulls) throws IOException {
        return message(
                NEW_ID, NEW, builder(NEW).set("text", text).set("id", 1L << 40).set("nulls", nulls));
    }

    private static GenericRecordBuilder builder(String schema) {
        return new GenericRecordBuilder(AvroCompiler.parse(schema));
    }

    private static byte[] message(int id, String writer, GenericRecordBuilder record) throws IOException {
        Schema schema = AvroCompiler.parse(writer);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write(0);
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes.write(id >> shift);
        }
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        new GenericDatumWriter<GenericRecord>(schema).write(record.build(), encoder);
        encoder.flush();
        return bytes.toByteArray();
    }

    private static String record(String fields) {
        return "{\"type\": \"record\", \"name\": \"R\", \"fields\": [" + fields + "]}";
    }
}
