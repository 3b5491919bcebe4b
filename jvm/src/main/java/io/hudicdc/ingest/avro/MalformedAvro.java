package io.hudicdc.ingest.avro;

/** Bytes that are not decoded: preallocated, without a stack trace, since a batch may contain millions of them. */
final class MalformedAvro extends RuntimeException {
    static final MalformedAvro FOUND = new MalformedAvro("not readable with its own schema");
    /** A record whose values take more memory than one record may. */
    static final MalformedAvro TOO_LARGE = new MalformedAvro("too large when decoded");

    private static final long serialVersionUID = 1L;

    private MalformedAvro(String text) {
        super(text, null, false, false);
    }
}
