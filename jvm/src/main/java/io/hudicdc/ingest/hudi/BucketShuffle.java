package io.hudicdc.ingest.hudi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter.PrefixComputer;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The shuffle of a {@code bulk_insert} with a bucket index: each task gets all rows of its buckets, one after the other.
 *
 * <p>Hudi's ({@code BucketPartitionUtils}) sorts by bucket: each task has all of its rows as objects, and writes those
 * that do not fit to disk, by Kryo. Here the rows of a task's first bucket, mostly its only one, go on as they come.
 */
final class BucketShuffle {
    private static final String HUDIS = "org.apache.spark.sql.BucketPartitionUtils";

    private BucketShuffle() {}

    /** Return the same rows by this shuffle, if {@code rows} comes from Hudi's, or {@code rows}. */
    static RDD<InternalRow> of(RDD<InternalRow> rows, StructType schema) {
        RDD<?> parent = rows.dependencies().isEmpty()
                ? null
                : rows.dependencies().head().rdd();
        // Others than Spark's own shuffle could keep the rows, whose memory Spark reuses.
        if (!(parent instanceof ShuffledRDD) || !(SparkEnv.get().shuffleManager() instanceof SortShuffleManager)) {
            return rows;
        }
        ShuffledRDD<?, ?, ?> shuffled = (ShuffledRDD<?, ?, ?>) parent;
        Partitioner partitioner = shuffled.partitioner().get();
        return partitioner.getClass().getName().startsWith(HUDIS)
                ? shuffle(shuffled.prev(), partitioner, schema)
                : rows;
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // as Hudi builds it: (partition, bucket) and row
    private static RDD<InternalRow> shuffle(RDD<?> byBucket, Partitioner partitioner, StructType schema) {
        ClassTag<Object> any = ClassTag$.MODULE$.Any();
        JavaRDD<Tuple2<Integer, UnsafeRow>> shuffled = new ShuffledRDD(byBucket, partitioner, any, any, any)
                .setSerializer(new RowSerializer(schema.length()))
                .toJavaRDD();
        return shuffled.<InternalRow>mapPartitions(rows -> new OneAfterAnother(rows, schema), true)
                .rdd();
    }

    /** Rows of the first bucket as they come, then all others, sorted outside of the heap or on disk. */
    private static final class OneAfterAnother implements Iterator<InternalRow> {
        private static final int PATH = HoodieRecord.PARTITION_PATH_META_FIELD_ORD;

        private final Iterator<Tuple2<Integer, UnsafeRow>> rows;
        private final StructType schema;
        private final Map<Tuple2<UTF8String, Integer>, Integer> numbers = new HashMap<>();
        private final PrefixComputer.Prefix prefix = new PrefixComputer.Prefix();
        private Tuple2<UTF8String, Integer> first;
        private UnsafeExternalRowSorter others;
        private scala.collection.Iterator<InternalRow> sorted;
        private InternalRow next;

        OneAfterAnother(Iterator<Tuple2<Integer, UnsafeRow>> rows, StructType schema) {
            this.rows = rows;
            this.schema = schema;
        }

        @Override
        public boolean hasNext() {
            if (next == null) {
                next = read();
            }
            return next != null;
        }

        @Override
        public InternalRow next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            InternalRow row = next;
            next = null;
            return row;
        }

        /** Return the next row, or null at the end. */
        private InternalRow read() {
            try {
                while (rows.hasNext()) {
                    Tuple2<Integer, UnsafeRow> keyed = rows.next();
                    UnsafeRow row = keyed._2();
                    if (isInFirst(row.getUTF8String(PATH), keyed._1())) {
                        return row;
                    }
                    keep(row, numberOf(row.getUTF8String(PATH), keyed._1()));
                }
                if (others != null && sorted == null) {
                    sorted = others.sort();
                }
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
            return sorted != null && sorted.hasNext() ? sorted.next() : null;
        }

        private boolean isInFirst(UTF8String path, Integer bucket) {
            if (first == null) {
                first = new Tuple2<>(path.clone(), bucket);
            }
            return first._2().equals(bucket) && first._1().equals(path);
        }

        /** Number the buckets of all partitions in the order in which they come. */
        private int numberOf(UTF8String path, Integer bucket) {
            Integer number = numbers.get(new Tuple2<>(path, bucket));
            if (number == null) {
                number = numbers.size();
                numbers.put(new Tuple2<>(path.clone(), bucket), number);
            }
            return number;
        }

        private void keep(UnsafeRow row, int number) throws IOException {
            if (others == null) {
                others = sorter();
            }
            prefix.value = number;
            others.insertRow(row);
        }

        private UnsafeExternalRowSorter sorter() throws IOException {
            PrefixComputer byBucket = new PrefixComputer() {
                @Override
                public Prefix computePrefix(InternalRow row) {
                    return prefix;
                }
            };
            long pageSize = SparkEnv.get().memoryManager().pageSizeBytes();
            return UnsafeExternalRowSorter.createWithRecordComparator(
                    schema, AllEqual::new, PrefixComparators.LONG, byBucket, pageSize, true);
        }
    }

    /** Compares rows of one bucket. */
    private static final class AllEqual extends RecordComparator {
        @Override
        public int compare(Object left, long leftAt, int leftSize, Object right, long rightAt, int rightSize) {
            return 0;
        }
    }
}
