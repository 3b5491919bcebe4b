package io.hudicdc.ingest.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.executor.InputMetrics;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.kafka010.KafkaSourceRDD;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Predef;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * The records of known offsets, by the tasks of Spark's Kafka source.
 *
 * <p>The source itself asks the broker for the partitions, with a client of its own for each batch, gives each batch a
 * consumer group of its own, so that its tasks open new consumers, and turns each record into a row for users and back.
 */
public final class KafkaRows {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Otherwise expired offsets are skipped without an error, and the rows with them (SPARK-18373). */
    private static final boolean FAIL_ON_DATA_LOSS = true;
    /** The largest key that is kept of a record that is too large. */
    private static final int MOST_KEY_BYTES = 1 << 16;

    private static final StructType SCHEMA = new StructType()
            .add("partition", DataTypes.IntegerType)
            .add("offset", DataTypes.LongType)
            .add("timestamp", DataTypes.TimestampType)
            .add("key", DataTypes.BinaryType)
            .add("value", DataTypes.BinaryType);
    private static final StructType HEADER =
            new StructType().add("key", DataTypes.StringType).add("value", DataTypes.BinaryType);
    private static final StructType WITH_HEADERS = SCHEMA.add("headers", DataTypes.createArrayType(HEADER));

    private KafkaRows() {}

    /**
     * Return the records of one topic; nothing is read before an action.
     *
     * @param ranges JSON: arrays of partition, first offset, exclusive end
     * @param properties JSON: the properties of Kafka's Java client
     * @param group the consumer group under which executors keep consumers for later batches
     * @param minPartitions the least number of tasks into which the ranges are cut
     * @param headers whether to add a column of the headers, null for a record without headers
     * @param mostBytes the largest record; of a larger one only the key stays, and {@link LargeRecord#marked}
     */
    public static Dataset<Row> of(
            SparkSession session,
            String topic,
            String ranges,
            String properties,
            String group,
            int minPartitions,
            long pollTimeoutMs,
            boolean headers,
            long mostBytes)
            throws JsonProcessingException {
        List<KafkaOffsetRange> parts = new ArrayList<>();
        for (long[] part : JSON.readValue(ranges, long[][].class)) {
            TopicPartition partition = new TopicPartition(topic, Math.toIntExact(part[0]));
            parts.add(new KafkaOffsetRange(partition, part[1], part[2], Option.empty()));
        }
        Seq<KafkaOffsetRange> slices = new KafkaOffsetRangeCalculator(Option.apply(minPartitions))
                .getRanges(toSeq(parts), toSeq(List.<String>of()));
        JavaRDD<InternalRow> rows = new KafkaSourceRDD(
                        session.sparkContext(),
                        KafkaSourceProvider.kafkaParamsForExecutors(toScala(properties), group),
                        slices,
                        pollTimeoutMs,
                        FAIL_ON_DATA_LOSS)
                .toJavaRDD()
                .mapPartitions(messages -> counted(messages, headers, mostBytes), true);
        StructType schema = headers ? WITH_HEADERS : SCHEMA;
        return LeanDataset.of(session, rows.setName("kafka").rdd(), schema);
    }

    /** Return a task's rows, and count them as the records that it has read, as Spark's newer source does. */
    private static Iterator<InternalRow> counted(
            Iterator<ConsumerRecord<byte[], byte[]>> messages, boolean headers, long mostBytes) {
        InputMetrics metrics = TaskContext.get().taskMetrics().inputMetrics();
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return messages.hasNext();
            }

            @Override
            public InternalRow next() {
                metrics.incRecordsRead(1);
                ConsumerRecord<byte[], byte[]> message = bounded(messages.next(), mostBytes);
                return headers ? new JoinedRow(row(message), headersOf(message)) : row(message);
            }
        };
    }

    /** Return a record, or one that stands for it where it is too large: every later step would copy its bytes. */
    private static ConsumerRecord<byte[], byte[]> bounded(ConsumerRecord<byte[], byte[]> message, long mostBytes) {
        long size = (long) Math.max(0, message.serializedKeySize()) + Math.max(0, message.serializedValueSize());
        for (Header header : message.headers()) {
            size += header.value() == null ? 0 : header.value().length;
        }
        if (size <= mostBytes) {
            return message;
        }
        boolean isKept = message.key() != null && message.key().length <= MOST_KEY_BYTES;
        return new ConsumerRecord<>(
                message.topic(),
                message.partition(),
                message.offset(),
                message.timestamp(),
                message.timestampType(),
                message.serializedKeySize(),
                message.serializedValueSize(),
                isKept ? message.key() : null,
                LargeRecord.marked(size),
                new RecordHeaders(),
                message.leaderEpoch());
    }

    private static InternalRow row(ConsumerRecord<byte[], byte[]> message) {
        return new GenericInternalRow(new Object[] {
            message.partition(),
            message.offset(),
            DateTimeUtils.millisToMicros(message.timestamp()),
            message.key(),
            message.value(),
        });
    }

    private static InternalRow headersOf(ConsumerRecord<byte[], byte[]> message) {
        Header[] headers = message.headers().toArray();
        Object[] rows = Arrays.stream(headers)
                .map(header ->
                        new GenericInternalRow(new Object[] {UTF8String.fromString(header.key()), header.value()}))
                .toArray();
        return new GenericInternalRow(new Object[] {rows.length == 0 ? null : new GenericArrayData(rows)});
    }

    private static <T> Seq<T> toSeq(List<T> items) {
        return JavaConverters.asScalaBuffer(items).toSeq();
    }

    private static scala.collection.immutable.Map<String, String> toScala(String properties)
            throws JsonProcessingException {
        Map<String, String> parsed = JSON.readValue(properties, new TypeReference<Map<String, String>>() {});
        return JavaConverters.mapAsScalaMap(parsed).toMap(Predef.<Tuple2<String, String>>$conforms());
    }
}
