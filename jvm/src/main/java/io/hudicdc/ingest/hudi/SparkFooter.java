package io.hudicdc.ingest.hudi;

import java.util.Properties;
import org.apache.hudi.avro.HoodieAvroWriteSupport;
import org.apache.hudi.common.bloom.BloomFilter;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.util.Option;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.package$;

/**
 * Names Spark's version in the footers of the files that Hudi's Avro writer makes, as Spark's own writer does.
 *
 * <p>A file without it may be in the calendar of Spark 2.4: a session with default settings refuses its dates before
 * 1582-10-15 and its timestamps before 1900 (SPARK-31404, {@code DataSourceUtils.datetimeRebaseSpec} of Spark 3.5).
 */
public final class SparkFooter<T> extends HoodieAvroWriteSupport<T> {
    private static final String VERSION = "org.apache.spark.version";

    public SparkFooter(MessageType schema, HoodieSchema avro, Option<BloomFilter> bloom, Properties properties) {
        super(schema, avro, bloom, properties);
        addFooterMetadata(VERSION, package$.MODULE$.SPARK_VERSION_SHORT());
    }
}
