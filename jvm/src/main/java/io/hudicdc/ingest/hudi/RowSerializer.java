package io.hudicdc.ingest.hudi;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;

/**
 * Writes the rows of {@link BucketShuffle} as the bytes that they are, after the number of their bucket.
 *
 * <p>Like {@code UnsafeRowSerializer}, which keeps no keys, it is for shuffles only, and reading reuses one row.
 */
final class RowSerializer extends Serializer implements Serializable {
    private static final long serialVersionUID = 1;
    private static final int COPIED = 1 << 12;
    private static final int END = -1;

    private final int columns;

    RowSerializer(int columns) {
        this.columns = columns;
    }

    @Override
    public boolean supportsRelocationOfSerializedObjects() {
        return true;
    }

    @Override
    public SerializerInstance newInstance() {
        return new Instance();
    }

    private final class Instance extends SerializerInstance {
        @Override
        public SerializationStream serializeStream(OutputStream out) {
            return new RowOutput(new DataOutputStream(new BufferedOutputStream(out)));
        }

        @Override
        public DeserializationStream deserializeStream(InputStream in) {
            return new RowInput(new DataInputStream(new BufferedInputStream(in)), columns);
        }

        @Override
        public <T> ByteBuffer serialize(T object, ClassTag<T> type) {
            throw new UnsupportedOperationException();
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassTag<T> type) {
            throw new UnsupportedOperationException();
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> type) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class RowOutput extends SerializationStream {
        private final DataOutputStream out;
        private final byte[] buffer = new byte[COPIED];

        RowOutput(DataOutputStream out) {
            this.out = out;
        }

        @Override
        public <T> SerializationStream writeKey(T key, ClassTag<T> type) {
            try {
                out.writeInt((Integer) ((Tuple2<?, ?>) key)._2());
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
            return this;
        }

        @Override
        public <T> SerializationStream writeValue(T value, ClassTag<T> type) {
            UnsafeRow row = (UnsafeRow) value;
            try {
                out.writeInt(row.getSizeInBytes());
                row.writeToStream(out, buffer);
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
            return this;
        }

        @Override
        public <T> SerializationStream writeObject(T object, ClassTag<T> type) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {
            try {
                out.flush();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        @Override
        public void close() {
            try {
                out.close();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }

    private static final class RowInput extends DeserializationStream {
        private final DataInputStream in;
        private final int columns;

        RowInput(DataInputStream in, int columns) {
            this.in = in;
            this.columns = columns;
        }

        @Override
        public Iterator<Tuple2<Object, Object>> asKeyValueIterator() {
            return new Rows();
        }

        @Override
        public <T> T readObject(ClassTag<T> type) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            try {
                in.close();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        /** The buckets and rows of a stream, which it closes at its end. */
        private final class Rows extends AbstractIterator<Tuple2<Object, Object>> {
            private final UnsafeRow row = new UnsafeRow(columns);
            private byte[] bytes = new byte[COPIED];
            private int bucket = readBucket();

            @Override
            public boolean hasNext() {
                return bucket != END;
            }

            @Override
            public Tuple2<Object, Object> next() {
                if (bucket == END) {
                    throw new NoSuchElementException();
                }
                try {
                    int size = in.readInt();
                    bytes = bytes.length < size ? new byte[size] : bytes;
                    in.readFully(bytes, 0, size);
                    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, size);
                } catch (IOException failed) {
                    throw new UncheckedIOException(failed);
                }
                Tuple2<Object, Object> next = new Tuple2<>(bucket, row);
                bucket = readBucket();
                return next;
            }

            private int readBucket() {
                try {
                    return in.readInt();
                } catch (EOFException end) {
                    close();
                    return END;
                } catch (IOException failed) {
                    throw new UncheckedIOException(failed);
                }
            }
        }
    }
}
