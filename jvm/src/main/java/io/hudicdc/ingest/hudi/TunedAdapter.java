package io.hudicdc.ingest.hudi;

import java.lang.reflect.Field;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.SparkAdapterSupport$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.adapter.Spark3_5Adapter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.SparkColumnarFileReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.immutable.Map;

/**
 * Hudi's adapter for Spark 3.5, with {@link BaseFileReader} in place of Spark's reader by rows, and {@link BucketShuffle}
 * in place of Hudi's.
 */
final class TunedAdapter extends Spark3_5Adapter {
    private static final long serialVersionUID = 1;

    /** Bytes of a file from which they are read in batches: some 15,000 rows of twelve columns. */
    private static final long SMALLEST = 1L << 20;

    /** Make it the adapter of this JVM. Call before Hudi's classes keep theirs. */
    static void install() {
        SparkAdapterSupport$ support = SparkAdapterSupport$.MODULE$;
        support.sparkAdapter(); // sets the field, once
        try {
            Field adapter = SparkAdapterSupport$.class.getDeclaredField("sparkAdapter"); // no option names another
            adapter.setAccessible(true);
            adapter.set(support, new TunedAdapter());
        } catch (ReflectiveOperationException otherHudi) {
            return; // it works as before, only slower
        }
    }

    @Override
    public SparkColumnarFileReader createParquetFileReader(
            boolean isVectorized, SQLConf conf, Map<String, String> options, Configuration hadoop) {
        if (isScanOfBatches(options)) {
            return super.createParquetFileReader(true, withBatches(conf), options, hadoop);
        }
        SparkColumnarFileReader reader = super.createParquetFileReader(isVectorized, conf, options, hadoop);
        if (isVectorized || !conf.parquetVectorizedReaderEnabled()) {
            return reader;
        }
        Map<String, String> inRows = options.$plus(new Tuple2<>(FileFormat.OPTION_RETURNING_BATCH(), "false"));
        SparkColumnarFileReader byBatches = super.createParquetFileReader(true, conf, inRows, hadoop);
        return new BaseFileReader(reader, byBatches, conf.parquetVectorizedReaderBatchSize(), SMALLEST);
    }

    /** Tell whether Spark has planned a scan in batches. A merge has the same option, and no path. */
    private static boolean isScanOfBatches(Map<String, String> options) {
        return options.contains("path")
                && options.get(FileFormat.OPTION_RETURNING_BATCH()).contains("true");
    }

    /**
     * Return settings for a scan that Spark has planned in batches.
     *
     * <p>Hudi 1.2.0 keeps whether it reads in batches in its format, which all scans of a relation share, and in the
     * session's settings, which all threads share: a query that also scans nested columns got rows where it had planned
     * batches.
     */
    private static SQLConf withBatches(SQLConf conf) {
        SQLConf own = conf.clone();
        own.setConfString(SQLConf.PARQUET_VECTORIZED_READER_ENABLED().key(), "true");
        return own;
    }

    @Override
    public Dataset<Row> internalCreateDataFrame(
            SparkSession session, RDD<InternalRow> rows, StructType schema, boolean isStreaming) {
        return super.internalCreateDataFrame(session, BucketShuffle.of(rows, schema), schema, isStreaming);
    }
}
