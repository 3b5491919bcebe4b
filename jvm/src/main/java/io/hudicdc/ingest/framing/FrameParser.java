package io.hudicdc.ingest.framing;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * Finds the framing of a message.
 *
 * <ul>
 *   <li>{@code confluent}, {@code confluent-guid}: a byte 0 and a 4-byte id, a byte 1 and a 16-byte GUID;
 *       {@code confluent-headers}: either of them in a header (schema-serializer 8.5.0: SchemaId, HeaderSchemaIdSerializer).
 *   <li>{@code apicurio-8-byte-…}: a byte 0 and an 8-byte id (serdes 2.6.9: DefaultIdHandler; 3.3.1: Legacy8ByteIdHandler).
 *       An id of 4 bytes is never 0, which tells the two apart (3.3.1: OptimisticFallbackIdHandler).
 *   <li>{@code apicurio-headers}: an 8-byte id in a header (2.6.9 and 3.3.1: DefaultHeadersHandler).
 *   <li>{@code glue}: a byte 3, a byte 0 or 5 for zlib, a 16-byte UUID (schema-registry-serde 1.1: SerializationDataEncoder).
 * </ul>
 */
final class FrameParser {
    private static final int MAGIC_BYTES = 1;
    private static final int INT_FRAME_BYTES = MAGIC_BYTES + Integer.BYTES;
    private static final int LONG_FRAME_BYTES = MAGIC_BYTES + Long.BYTES;
    private static final int UUID_BYTES = 2 * Long.BYTES;
    private static final int GUID_FRAME_BYTES = MAGIC_BYTES + UUID_BYTES;
    private static final int GLUE_FRAME_BYTES = 2 + UUID_BYTES;
    private static final int HEADER_COLUMNS = 2;

    private final Framings expected;
    private final String confluent;
    private final String globalId;
    private final String contentId;
    private final String encoding;
    private final String artifactId;

    FrameParser(Framings expected, String side) {
        this.expected = expected;
        this.confluent = "__" + side + "_schema_id";
        this.globalId = "apicurio." + side + ".globalId";
        this.contentId = "apicurio." + side + ".contentId";
        this.encoding = "apicurio." + side + ".encoding";
        this.artifactId = "apicurio." + side + ".artifactId";
    }

    /** Return the frame of a message; headers win over the first bytes, as in the deserializers of both registries. */
    Frame parse(byte[] message, ArrayData headers) throws UnusableFrame {
        if (headers != null && headers.numElements() > 0) {
            Frame frame = inHeaders(headers);
            if (frame != null) {
                return frame;
            }
        }
        if (message.length == 0) {
            throw UnusableFrame.unreadable("empty payload");
        }
        switch (message[0]) {
            case 0:
                return numbered(message);
            case 1:
                atLeast(message, GUID_FRAME_BYTES, "a schema GUID");
                return new Frame("confluent-guid", "GUID " + uuid(message, MAGIC_BYTES), GUID_FRAME_BYTES, false);
            case 3:
                return glue(message);
            default:
                throw UnusableFrame.unreadable("magic byte 0x%02X is not that of a framing", message[0]);
        }
    }

    private Frame numbered(byte[] message) throws UnusableFrame {
        atLeast(message, INT_FRAME_BYTES, "a schema id");
        ByteBuffer bytes = ByteBuffer.wrap(message, MAGIC_BYTES, message.length - MAGIC_BYTES);
        int first = bytes.getInt(MAGIC_BYTES);
        boolean contentIds = expected.has("apicurio-8-byte-content-id");
        boolean onlyLong = !expected.has("confluent")
                && !expected.has("apicurio-4-byte-global-id")
                && (contentIds || expected.has("apicurio-8-byte-global-id"));
        if ((first == 0 || onlyLong) && message.length >= LONG_FRAME_BYTES) {
            String framing = contentIds ? "apicurio-8-byte-content-id" : "apicurio-8-byte-global-id";
            String kind = contentIds ? "contentId " : "globalId ";
            return new Frame(framing, kind + bytes.getLong(MAGIC_BYTES), LONG_FRAME_BYTES, false);
        }
        String number = Integer.toUnsignedString(first);
        if (expected.has("apicurio-4-byte-global-id")) {
            return new Frame("apicurio-4-byte-global-id", "globalId " + number, INT_FRAME_BYTES, false);
        }
        return new Frame("confluent", "id " + number, INT_FRAME_BYTES, false);
    }

    private static Frame glue(byte[] message) throws UnusableFrame {
        atLeast(message, GLUE_FRAME_BYTES, "Glue's header");
        if (message[1] != 0 && message[1] != 5) {
            throw UnusableFrame.unreadable("Glue's compression byte 0x%02X is neither 0x00 nor 0x05", message[1]);
        }
        return new Frame("glue", "schemaVersionId " + uuid(message, 2), GLUE_FRAME_BYTES, message[1] == 5);
    }

    private Frame inHeaders(ArrayData headers) throws UnusableFrame {
        byte[] ofConfluent = last(headers, confluent);
        byte[] ofContent = last(headers, contentId);
        byte[] ofGlobal = last(headers, globalId);
        if (ofConfluent != null && (ofContent != null || ofGlobal != null)) {
            throw UnusableFrame.unreadable("the headers of two registries, %s and apicurio.*", confluent);
        }
        if (ofConfluent != null) {
            return ofConfluent(ofConfluent);
        }
        if (ofContent != null || ofGlobal != null) {
            byte[] encoded = last(headers, encoding);
            if (encoded != null && !"BINARY".equals(new String(encoded, StandardCharsets.UTF_8))) {
                String name = new String(encoded, StandardCharsets.UTF_8);
                throw UnusableFrame.unreadable("encoding %s in the header %s, allowed: BINARY", name, encoding);
            }
            return ofContent != null
                    ? ofApicurio(ofContent, "contentId ", contentId)
                    : ofApicurio(ofGlobal, "globalId ", globalId);
        }
        if (last(headers, artifactId) != null) {
            throw UnusableFrame.unreadable(
                    "the header %s names an artifact, not a schema's id; allowed: %s, %s",
                    artifactId, globalId, contentId);
        }
        return null;
    }

    private Frame ofConfluent(byte[] id) throws UnusableFrame {
        ByteBuffer bytes = ByteBuffer.wrap(id);
        if (id.length == INT_FRAME_BYTES && id[0] == 0) {
            String number = Integer.toUnsignedString(bytes.getInt(MAGIC_BYTES));
            return new Frame("confluent-headers", "id " + number, 0, false);
        }
        if (id.length == GUID_FRAME_BYTES && id[0] == 1) {
            return new Frame("confluent-headers", "GUID " + uuid(id, MAGIC_BYTES), 0, false);
        }
        throw UnusableFrame.unreadable("the %d bytes of the header %s are not a schema id", id.length, confluent);
    }

    private static Frame ofApicurio(byte[] id, String kind, String header) throws UnusableFrame {
        if (id.length != Long.BYTES) {
            throw UnusableFrame.unreadable("the %d bytes of the header %s are not a schema id", id.length, header);
        }
        return new Frame("apicurio-headers", kind + ByteBuffer.wrap(id).getLong(), 0, false);
    }

    /** Return the last header of a name; null without one, and for a null value. */
    private static byte[] last(ArrayData headers, String name) {
        for (int i = headers.numElements() - 1; i >= 0; i--) {
            InternalRow header = headers.getStruct(i, HEADER_COLUMNS);
            if (!header.isNullAt(0) && name.equals(header.getUTF8String(0).toString())) {
                return header.isNullAt(1) ? null : header.getBinary(1);
            }
        }
        return null;
    }

    private static UUID uuid(byte[] bytes, int at) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new UUID(buffer.getLong(at), buffer.getLong(at + Long.BYTES));
    }

    private static void atLeast(byte[] message, int length, String thing) throws UnusableFrame {
        if (message.length < length) {
            throw UnusableFrame.unreadable("%d bytes are too few for %s", message.length, thing);
        }
    }
}
