package io.hudicdc.ingest.avro;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;

/** Decodes messages in Confluent's framing: a byte 0, four bytes of schema id, one record of that schema. */
final class AvroDecoder {
    private static final int HEADER_BYTES = 5;

    private final int[] ids;
    private final AvroReader[] readers;
    private final AvroInput in;

    /** {@code mostBytes} is the memory that the values of one record may take. */
    AvroDecoder(String reader, List<Integer> ids, List<String> wires, long mostBytes) {
        this.in = new AvroInput(mostBytes);
        Schema schema = AvroCompiler.parse(reader);
        this.ids = ids.stream().mapToInt(Integer::intValue).toArray();
        this.readers = wires.stream()
                .map(wire -> AvroCompiler.reader(AvroCompiler.parse(wire), schema))
                .toArray(AvroReader[]::new);
    }

    /**
     * Return the struct {@code value}, {@code whole} of a message; null for a schema id that is not one of these.
     *
     * <p>{@code whole} is null for a record that is too large when decoded.
     */
    InternalRow decode(byte[] message) {
        AvroReader reader = readerOf(message);
        if (reader == null) {
            return null;
        }
        DecodedRow decoded = new DecodedRow(2);
        in.open(message, HEADER_BYTES);
        try {
            Object record = reader.read(in);
            boolean whole = in.left() == 0;
            decoded.set(0, whole ? record : null);
            decoded.setBoolean(1, whole);
        } catch (MalformedAvro malformed) {
            if (malformed != MalformedAvro.TOO_LARGE) {
                decoded.setBoolean(1, false);
            }
        }
        return decoded;
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
