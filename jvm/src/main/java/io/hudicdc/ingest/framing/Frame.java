package io.hudicdc.ingest.framing;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** A message's schema, as its framing names it, and the bytes of its record. */
final class Frame {
    /** The most bytes of a record that was compressed: zlib makes 64 MiB of 64 KiB. */
    static final int MAX_INFLATED_BYTES = 64 << 20;

    private static final int HEADER_BYTES = 5;
    private static final int CHUNK_BYTES = 8192;

    private final String framing;
    private final String schema;
    private final int start;
    private final boolean compressed;

    /** {@code schema} is a kind of id and the id, separated by a space; the record starts at byte {@code start}. */
    Frame(String framing, String schema, int start, boolean compressed) {
        this.framing = framing;
        this.schema = schema;
        this.start = start;
        this.compressed = compressed;
    }

    String framing() {
        return framing;
    }

    String schema() {
        return schema;
    }

    /** Return the record behind Confluent's header: a byte 0 and four bytes of schema id. */
    byte[] reframed(byte[] message, int id) throws UnusableFrame {
        if (compressed) {
            return inflated(message, id);
        }
        int length = message.length - start;
        return header(HEADER_BYTES + length, id).put(message, start, length).array();
    }

    private static ByteBuffer header(int length, int id) {
        return ByteBuffer.allocate(length).put((byte) 0).putInt(id);
    }

    private byte[] inflated(byte[] message, int id) throws UnusableFrame {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(message, start, message.length - start);
            ByteArrayOutputStream out = new ByteArrayOutputStream(message.length * 2);
            out.writeBytes(header(HEADER_BYTES, id).array());
            inflate(inflater, out);
            if (inflater.getRemaining() > 0) {
                throw UnusableFrame.unreadable("%d bytes are left over behind the zlib data", inflater.getRemaining());
            }
            return out.toByteArray();
        } catch (DataFormatException malformed) {
            throw UnusableFrame.unreadable("corrupt zlib data (%s)", malformed.getMessage());
        } finally {
            inflater.end();
        }
    }

    private static void inflate(Inflater inflater, ByteArrayOutputStream out)
            throws DataFormatException, UnusableFrame {
        byte[] chunk = new byte[CHUNK_BYTES];
        while (!inflater.finished()) {
            int count = inflater.inflate(chunk);
            if (count == 0 && !inflater.finished()) {
                throw UnusableFrame.unreadable("the zlib data is cut off");
            }
            if (out.size() + count > MAX_INFLATED_BYTES) {
                throw UnusableFrame.unreadable("inflates to more than %d bytes, the limit", MAX_INFLATED_BYTES);
            }
            out.write(chunk, 0, count);
        }
    }
}
