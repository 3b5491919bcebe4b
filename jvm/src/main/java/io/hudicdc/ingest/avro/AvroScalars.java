package io.hudicdc.ingest.avro;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Readers of scalar values, including Avro's promotions of the writer's type. */
final class AvroScalars {
    private AvroScalars() {}

    static final class Booleans extends AvroReader {
        @Override
        Object read(AvroInput in) {
            return in.readBoolean();
        }

        @Override
        void readInto(AvroInput in, DecodedRow row, int at) {
            row.setBoolean(at, in.readBoolean());
        }
    }

    static final class Ints extends AvroReader {
        @Override
        Object read(AvroInput in) {
            return in.readInt();
        }

        @Override
        void readInto(AvroInput in, DecodedRow row, int at) {
            row.setInt(at, in.readInt());
        }
    }

    /** Longs, and timestamps in milliseconds, converted to Spark's microseconds. */
    static final class Longs extends AvroReader {
        private static final long MICROS_PER_MILLI = 1_000;

        private final boolean fromInt;
        private final boolean millis;

        Longs(Schema.Type writer, boolean millis) {
            this.fromInt = writer == Schema.Type.INT;
            this.millis = millis;
        }

        @Override
        Object read(AvroInput in) {
            return value(in);
        }

        @Override
        void readInto(AvroInput in, DecodedRow row, int at) {
            row.setLong(at, value(in));
        }

        private long value(AvroInput in) {
            long value = fromInt ? in.readInt() : in.readLong();
            if (!millis) {
                return value;
            }
            if (value > Long.MAX_VALUE / MICROS_PER_MILLI || value < Long.MIN_VALUE / MICROS_PER_MILLI) {
                throw MalformedAvro.FOUND;
            }
            return value * MICROS_PER_MILLI;
        }
    }

    static final class Floats extends AvroReader {
        private final Schema.Type writer;

        Floats(Schema.Type writer) {
            this.writer = writer;
        }

        @Override
        Object read(AvroInput in) {
            return value(in);
        }

        @Override
        void readInto(AvroInput in, DecodedRow row, int at) {
            row.setFloat(at, value(in));
        }

        private float value(AvroInput in) {
            switch (writer) {
                case INT:
                    return in.readInt();
                case LONG:
                    return in.readLong();
                default:
                    return in.readFloat();
            }
        }
    }

    static final class Doubles extends AvroReader {
        private final Schema.Type writer;

        Doubles(Schema.Type writer) {
            this.writer = writer;
        }

        @Override
        Object read(AvroInput in) {
            return value(in);
        }

        @Override
        void readInto(AvroInput in, DecodedRow row, int at) {
            row.setDouble(at, value(in));
        }

        private double value(AvroInput in) {
            switch (writer) {
                case INT:
                    return in.readInt();
                case LONG:
                    return in.readLong();
                case FLOAT:
                    return in.readFloat();
                default:
                    return in.readDouble();
            }
        }
    }

    static final class Strings extends AvroReader {
        @Override
        Object read(AvroInput in) {
            return in.readString();
        }
    }

    static final class Binaries extends AvroReader {
        @Override
        Object read(AvroInput in) {
            return in.readBytes();
        }
    }

    static final class Fixed extends AvroReader {
        private final int size;

        Fixed(int size) {
            this.size = size;
        }

        @Override
        Object read(AvroInput in) {
            return in.readFixed(size);
        }
    }

    static final class Enums extends AvroReader {
        private final UTF8String[] symbols;

        /** Take the reader's symbol for each symbol of the writer; null if the reader lacks it. */
        Enums(UTF8String[] symbols) {
            this.symbols = symbols;
        }

        @Override
        Object read(AvroInput in) {
            int index = in.readInt();
            if (index < 0 || index >= symbols.length || symbols[index] == null) {
                throw MalformedAvro.FOUND;
            }
            return symbols[index];
        }
    }

    /** Numbers in two's complement, big-endian; more digits than the precision are malformed. */
    static final class Decimals extends AvroReader {
        private final int precision;
        private final int scale;
        private final long beyond;

        Decimals(int precision, int scale) {
            this.precision = precision;
            this.scale = scale;
            this.beyond = BigInteger.TEN
                    .pow(Math.min(precision, Decimal.MAX_LONG_DIGITS()))
                    .longValueExact();
        }

        @Override
        Object read(AvroInput in) {
            int size = in.readSize();
            if (size == 0) {
                throw MalformedAvro.FOUND;
            }
            if (size > Long.BYTES) {
                return large(in.readBigInteger(size));
            }
            long unscaled = in.readBigEndian(size);
            boolean small = unscaled < beyond && unscaled > -beyond;
            return small ? Decimal.createUnsafe(unscaled, precision, scale) : large(BigInteger.valueOf(unscaled));
        }

        private Decimal large(BigInteger unscaled) {
            BigDecimal value = new BigDecimal(unscaled, scale);
            if (value.precision() > precision) {
                throw MalformedAvro.FOUND;
            }
            return Decimal.apply(value, precision, scale);
        }
    }

    /** Values that the reader cannot represent, such as a branch of the writer's union that the reader lacks. */
    static final class Unreadable extends AvroReader {
        @Override
        Object read(AvroInput in) {
            throw MalformedAvro.FOUND;
        }
    }
}
