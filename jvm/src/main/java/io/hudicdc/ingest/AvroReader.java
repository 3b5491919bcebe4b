package io.hudicdc.ingest;

/** Reads the values of one writer's type as those of one reader's. */
abstract class AvroReader {
    /** Read a value as Spark holds it; null for null. */
    abstract Object read(AvroInput in);

    /** Read a value into a row's field that is still null; numbers do so without a box. */
    void readInto(AvroInput in, DecodedRow row, int at) {
        row.set(at, read(in));
    }
}
