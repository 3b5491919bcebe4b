package io.hudicdc.ingest;

/** Bytes that are no value of their schema; told by the million, so it is one object without a stack. */
final class MalformedAvro extends RuntimeException {
    static final MalformedAvro FOUND = new MalformedAvro();

    private static final long serialVersionUID = 1L;

    private MalformedAvro() {
        super("not readable with its own schema", null, false, false);
    }
}
