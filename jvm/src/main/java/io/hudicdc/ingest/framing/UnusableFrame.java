package io.hudicdc.ingest.framing;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The reason why a message has no schema that its table reads, without a stack trace: a batch may hold millions. */
final class UnusableFrame extends Exception {
    private static final long serialVersionUID = 1L;
    private static final byte MARK = (byte) 0xFF;
    private static final byte UNKNOWN = 'u';
    private static final byte UNREADABLE = 'f';

    private final byte code;

    private UnusableFrame(byte code, String text) {
        super(text, null, false, false);
        this.code = code;
    }

    /** Return the refusal of a frame that cannot be read. */
    static UnusableFrame unreadable(String text, Object... arguments) {
        return new UnusableFrame(UNREADABLE, String.format(text, arguments));
    }

    /** Return the refusal of a frame whose schema the table does not know. */
    static UnusableFrame unknown(String schema) {
        return new UnusableFrame(UNKNOWN, schema);
    }

    /** Return bytes that no framing has: 0xFF, a code, and the text in UTF-8. */
    byte[] marked() {
        byte[] text = getMessage().getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(2 + text.length)
                .put(MARK)
                .put(code)
                .put(text)
                .array();
    }
}
