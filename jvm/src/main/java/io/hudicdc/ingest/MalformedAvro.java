package io.hudicdc.ingest;

/** Malformed bytes: one preallocated exception without a stack trace, since a batch may contain millions of them. */
final class MalformedAvro extends RuntimeException {
    static final MalformedAvro FOUND = new MalformedAvro();

    private static final long serialVersionUID = 1L;

    private MalformedAvro() {
        super("not readable with its own schema", null, false, false);
    }
}
