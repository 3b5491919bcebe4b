package io.hudicdc.ingest.avro;

import java.util.List;
import org.apache.avro.Schema;

/** Readers that skip a value. */
final class AvroSkips {
    private AvroSkips() {}

    /** Return the reader that skips a type; {@code ingest.avro} refuses recursive schemas. */
    static AvroReader of(Schema writer) {
        switch (writer.getType()) {
            case NULL:
                return new Bytes(0);
            case BOOLEAN:
                return new Bytes(1);
            case FLOAT:
                return new Bytes(Float.BYTES);
            case DOUBLE:
                return new Bytes(Double.BYTES);
            case FIXED:
                return new Bytes(writer.getFixedSize());
            case INT:
            case ENUM:
                return new Ints();
            case LONG:
                return new Longs();
            case STRING:
            case BYTES:
                return new Sized();
            case UNION:
                return new AvroStructures.Union(all(writer.getTypes()));
            case RECORD:
                return new Record(
                        writer.getFields().stream().map(f -> of(f.schema())).toArray(AvroReader[]::new));
            case ARRAY:
                return new Blocks(of(writer.getElementType()), isEmpty(writer.getElementType()));
            case MAP:
                return new Blocks(new Record(new Sized(), of(writer.getValueType())), false);
            default:
                throw new IllegalArgumentException("no Avro type: " + writer);
        }
    }

    /** Return whether every value of a type is encoded in zero bytes. */
    static boolean isEmpty(Schema type) {
        switch (type.getType()) {
            case NULL:
                return true;
            case FIXED:
                return type.getFixedSize() == 0;
            case RECORD:
                return type.getFields().stream().allMatch(field -> isEmpty(field.schema()));
            default:
                return false;
        }
    }

    private static AvroReader[] all(List<Schema> types) {
        return types.stream().map(AvroSkips::of).toArray(AvroReader[]::new);
    }

    private abstract static class Skip extends AvroReader {
        abstract void skip(AvroInput in);

        @Override
        final Object read(AvroInput in) {
            skip(in);
            return null;
        }

        @Override
        final void readInto(AvroInput in, DecodedRow row, int at) {
            skip(in);
        }
    }

    private static final class Bytes extends Skip {
        private final int size;

        Bytes(int size) {
            this.size = size;
        }

        @Override
        void skip(AvroInput in) {
            in.skip(size);
        }
    }

    private static final class Ints extends Skip {
        @Override
        void skip(AvroInput in) {
            in.readInt();
        }
    }

    private static final class Longs extends Skip {
        @Override
        void skip(AvroInput in) {
            in.readLong();
        }
    }

    private static final class Sized extends Skip {
        @Override
        void skip(AvroInput in) {
            in.skip(in.readSize());
        }
    }

    private static final class Record extends Skip {
        private final AvroReader[] fields;

        Record(AvroReader... fields) {
            this.fields = fields;
        }

        @Override
        void skip(AvroInput in) {
            for (AvroReader field : fields) {
                field.read(in);
            }
        }
    }

    /** An array or a map: a block with a negative count states its size and is skipped at once. */
    private static final class Blocks extends Skip {
        private final AvroReader element;
        private final boolean empty;

        Blocks(AvroReader element, boolean empty) {
            this.element = element;
            this.empty = empty;
        }

        @Override
        void skip(AvroInput in) {
            for (long count = in.readLong(); count != 0; count = in.readLong()) {
                if (count < 0) {
                    in.skip(in.readSize());
                    continue;
                }
                for (long i = 0; i < count && !empty; i++) {
                    element.read(in);
                }
            }
        }
    }
}
