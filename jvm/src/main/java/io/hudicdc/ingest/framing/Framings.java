package io.hudicdc.ingest.framing;

import io.hudicdc.ingest.spark.LargeRecord;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** The framings that a table expects, and the schema id of each schema as they name it. */
final class Framings {
    private static final String BY_ID = "id ";

    private final List<String> expected;
    private final Map<String, Integer> ids = new HashMap<>();
    private final FrameParser parser;

    Framings(String side, List<String> expected, List<String> schemas, List<Integer> ids) {
        this.expected = expected;
        for (int i = 0; i < schemas.size(); i++) {
            this.ids.put(schemas.get(i), ids.get(i));
        }
        this.parser = new FrameParser(this, side);
    }

    boolean has(String framing) {
        return expected.contains(framing);
    }

    /** Return a message in Confluent's framing, or {@link UnusableFrame#marked} bytes with the reason why not. */
    byte[] unframed(byte[] message, ArrayData headers) {
        if (LargeRecord.isMarked(message)) {
            return message;
        }
        try {
            Frame frame = parser.parse(message, headers);
            if (!has(frame.framing())) {
                throw UnusableFrame.unreadable(
                        "framing %s is not expected; framings in the table file allows: %s",
                        frame.framing(), String.join(", ", expected));
            }
            return "confluent".equals(frame.framing()) ? message : frame.reframed(message, idOf(frame));
        } catch (UnusableFrame unusable) {
            return unusable.marked();
        }
    }

    private int idOf(Frame frame) throws UnusableFrame {
        String schema = frame.schema();
        if (schema.startsWith(BY_ID)) {
            return Integer.parseUnsignedInt(schema.substring(BY_ID.length()));
        }
        Integer id = ids.get(schema);
        if (id == null) {
            throw UnusableFrame.unknown(schema);
        }
        return id;
    }
}
