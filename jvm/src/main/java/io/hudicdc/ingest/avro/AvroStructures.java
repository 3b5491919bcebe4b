package io.hudicdc.ingest.avro;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Readers of unions, records, arrays and maps. */
final class AvroStructures {
    /** The memory of a {@link DecodedRow} without fields, of one field, and of an element with its reference. */
    private static final int ROW_BYTES = 72;

    private static final int FIELD_BYTES = 17;
    private static final int ELEMENT_BYTES = 48;

    private AvroStructures() {}

    static final class Union extends AvroReader {
        private final AvroReader[] branches;

        Union(AvroReader[] branches) {
            this.branches = branches;
        }

        @Override
        Object read(AvroInput in) {
            return branch(in).read(in);
        }

        @Override
        void readInto(AvroInput in, DecodedRow row, int at) {
            branch(in).readInto(in, row, at);
        }

        private AvroReader branch(AvroInput in) {
            int index = in.readInt();
            if (index < 0 || index >= branches.length) {
                throw MalformedAvro.FOUND;
            }
            return branches[index];
        }
    }

    static final class Record extends AvroReader {
        private final AvroReader[] fields;
        private final int[] columns;
        private final int width;
        private final long size;

        /** Take the writer's fields in order, and the column of each in the reader's row (unused if skipped). */
        Record(AvroReader[] fields, int[] columns, int width) {
            this.fields = fields;
            this.columns = columns;
            this.width = width;
            this.size = ROW_BYTES + (long) FIELD_BYTES * width;
        }

        @Override
        DecodedRow read(AvroInput in) {
            in.countDecoded(size);
            DecodedRow row = new DecodedRow(width);
            for (int i = 0; i < fields.length; i++) {
                fields[i].readInto(in, row, columns[i]);
            }
            return row;
        }
    }

    static final class Array extends AvroReader {
        private final AvroReader element;
        private final boolean mayBeEmpty;

        Array(AvroReader element, boolean mayBeEmpty) {
            this.element = element;
            this.mayBeEmpty = mayBeEmpty;
        }

        @Override
        Object read(AvroInput in) {
            Object[] elements = {};
            for (int count = readCount(in, mayBeEmpty); count > 0; count = readCount(in, mayBeEmpty)) {
                int from = elements.length;
                if (mayBeEmpty) {
                    in.countEmpty(count);
                }
                in.countDecoded((long) ELEMENT_BYTES * count);
                elements = Arrays.copyOf(elements, from + count);
                for (int i = from; i < elements.length; i++) {
                    elements[i] = element.read(in);
                }
            }
            return new GenericArrayData(elements);
        }
    }

    static final class Entries extends AvroReader {
        private final AvroReader value;

        Entries(AvroReader value) {
            this.value = value;
        }

        /** Keep the last value of a repeated key, as Avro's own maps do. */
        @Override
        Object read(AvroInput in) {
            Map<UTF8String, Object> entries = new LinkedHashMap<>();
            for (int count = readCount(in, false); count > 0; count = readCount(in, false)) {
                in.countDecoded(2L * ELEMENT_BYTES * count);
                for (int i = 0; i < count; i++) {
                    entries.put(in.readString(), value.read(in));
                }
            }
            Object[] keys = entries.keySet().toArray();
            return new ArrayBasedMapData(
                    new GenericArrayData(keys),
                    new GenericArrayData(entries.values().toArray()));
        }
    }

    /** Read the number of elements of a block; after a negative count comes the size of the block, which is ignored. */
    private static int readCount(AvroInput in, boolean mayBeEmpty) {
        long count = in.readLong();
        if (count < 0) {
            in.readLong();
            count = -count;
        }
        if (count < 0 || count > (mayBeEmpty ? AvroInput.MAX_EMPTY : in.left())) {
            throw MalformedAvro.FOUND;
        }
        return (int) count;
    }
}
