package io.hudicdc.ingest;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;

/** Decodes messages in Confluent's framing: a byte 0, four bytes of schema id, one record of that schema. */
final class AvroDecoder {
    private static final int HEADER_BYTES = 5;

    private final int[] ids;
    private final AvroReader[] readers;
    private final AvroInput in = new AvroInput();

    AvroDecoder(String reader, List<Integer> ids, List<String> wires) {
        Schema schema = AvroCompiler.parse(reader);
        this.ids = ids.stream().mapToInt(Integer::intValue).toArray();
        this.readers = wires.stream()
                .map(wire -> AvroCompiler.reader(AvroCompiler.parse(wire), schema))
                .toArray(AvroReader[]::new);
    }

    /** Return the struct {@code value}, {@code whole} of a message; null for a schema id that is not one of these. */
    InternalRow decode(byte[] message) {
        AvroReader reader = readerOf(message);
        if (reader == null) {
            return null;
        }
        DecodedRow decoded = new DecodedRow(2);
        Object record = record(reader, message);
        decoded.set(0, record);
        decoded.setBoolean(1, record != null);
        return decoded;
    }

    private Object record(AvroReader reader, byte[] message) {
        in.open(message, HEADER_BYTES);
        try {
            Object record = reader.read(in);
            return in.left() == 0 ? record : null;
        } catch (MalformedAvro malformed) {
            return null;
        }
    }

    private AvroReader readerOf(byte[] message) {
        if (message.length < HEADER_BYTES || message[0] != 0) {
            return null;
        }
        int id = ByteBuffer.wrap(message, 1, Integer.BYTES).getInt();
        for (int i = 0; i < ids.length; i++) {
            if (ids[i] == id) {
                return readers[i];
            }
        }
        return null;
    }
}
