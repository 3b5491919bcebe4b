package io.hudicdc.ingest.avro;

/** Reads values of a writer's type as values of the reader's type. */
abstract class AvroReader {
    /** Read a value in Spark's internal form; null for null. */
    abstract Object read(AvroInput in);

    /** Read a value into a field of a row that is still null; numbers are not boxed. */
    void readInto(AvroInput in, DecodedRow row, int at) {
        row.set(at, read(in));
    }
}
