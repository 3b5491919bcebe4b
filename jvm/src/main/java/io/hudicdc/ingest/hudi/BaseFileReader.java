package io.hudicdc.ingest.hudi;

import static org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.BINARY;

import java.io.IOException;
import java.util.Arrays;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.internal.schema.InternalSchema;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.SparkColumnarFileReader;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFooterReader;
import org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * A reader of base files for merges: Spark's vectorized reader where a file has the wanted columns with their types.
 *
 * <p>Hudi merges the rows of Spark's other reader, which looks for default values of all columns in each row
 * (ParquetRowConverter.currentRecord, Spark 3.5.7). That one is left what the vectorized reader would convert, lacks, or
 * holds in large pieces: other types, missing and nested columns, filters, some encodings, and large rows. Small files are
 * left to it, too: in tables of 1,000 rows batches cost a commit 15 ms.
 */
final class BaseFileReader implements SparkColumnarFileReader {
    private static final long serialVersionUID = 1;

    /** The most bytes of a batch of average rows. */
    private static final long LARGEST_BATCH = 32L << 20;

    /** The encodings that Spark's vectorized reader knows. It lacks BYTE_STREAM_SPLIT, which the other one has. */
    private static final Set<String> ENCODINGS = Set.of(
            "PLAIN",
            "PLAIN_DICTIONARY",
            "RLE_DICTIONARY",
            "RLE",
            "BIT_PACKED",
            "DELTA_BINARY_PACKED",
            "DELTA_BYTE_ARRAY");

    private final SparkColumnarFileReader byRows;
    private final SparkColumnarFileReader byBatches;
    private final int batchRows;
    private final long smallest;

    /** Take two readers of rows, the number of rows that the second one holds, and the bytes from which it pays. */
    BaseFileReader(SparkColumnarFileReader byRows, SparkColumnarFileReader byBatches, int batchRows, long smallest) {
        this.byRows = byRows;
        this.byBatches = byBatches;
        this.batchRows = batchRows;
        this.smallest = smallest;
    }

    @Override
    public Iterator<InternalRow> read(
            PartitionedFile file,
            StructType wanted,
            StructType partition,
            Option<InternalSchema> internalSchema,
            Seq<Filter> filters,
            StorageConfiguration<Configuration> storage,
            Option<MessageType> tableSchema) {
        boolean isPlain = partition.isEmpty() && filters.isEmpty() && !internalSchema.isPresent();
        if (isPlain && isFlat(wanted) && holds(file, wanted, storage.unwrap())) {
            UnsafeProjection projection = UnsafeProjection.create(wanted); // a row of a batch is a view of it
            return byBatches
                    // Nullable, because Spark refuses numbers of rows that are required.
                    .read(file, wanted.asNullable(), partition, internalSchema, filters, storage, tableSchema)
                    .map(projection::apply);
        }
        return byRows.read(file, wanted, partition, internalSchema, filters, storage, tableSchema);
    }

    private static boolean isFlat(StructType wanted) {
        return wanted.length() > 0
                && Arrays.stream(wanted.fields()).allMatch(field -> field.dataType() instanceof AtomicType);
    }

    /** Tell whether a file is large and has these columns with these types, in batches of a moderate size. */
    boolean holds(PartitionedFile file, StructType wanted, Configuration configuration) {
        ParquetMetadata footer;
        try {
            Path path = file.toPath();
            if (path.getFileSystem(configuration).getFileStatus(path).getLen() < smallest) {
                return false;
            }
            footer = ParquetFooterReader.readFooter(configuration, file, ParquetFooterReader.WITH_ROW_GROUPS);
        } catch (IOException unreadable) {
            return false; // the reader by rows says why
        }
        for (BlockMetaData group : footer.getBlocks()) {
            if (!isSuited(group)) {
                return false;
            }
        }
        MessageType schema = footer.getFileMetaData().getSchema();
        for (StructField field : wanted.fields()) {
            // Both readers make the numbers of rows.
            if (!field.name().equals(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME()) && !holds(schema, field)) {
                return false;
            }
        }
        return true;
    }

    private boolean isSuited(BlockMetaData group) {
        long rowBytes = group.getTotalByteSize() / Math.max(1, group.getRowCount());
        return rowBytes <= LARGEST_BATCH / batchRows
                && group.getColumns().stream()
                        .flatMap(chunk -> chunk.getEncodings().stream())
                        .allMatch(encoding -> ENCODINGS.contains(encoding.name()));
    }

    private static boolean holds(MessageType schema, StructField field) {
        Type type = schema.containsField(field.name()) ? schema.getType(field.name()) : null;
        if (type == null || !type.isPrimitive()) {
            return false;
        }
        boolean isBinary = type.asPrimitiveType().getPrimitiveTypeName() == BINARY;
        if (isBinary && field.dataType() instanceof DecimalType) {
            return false; // Spark's vectorized reader lacks those of up to 18 digits
        }
        MessageType column = new MessageType(schema.getName(), type);
        // As Hudi reads them: text is not binary, INT96 are timestamps. TIMESTAMP without a zone is TIMESTAMP_NTZ.
        StructType found = new ParquetToSparkSchemaConverter(false, true, true, true, false).convert(column);
        return found.fields()[0].dataType().equals(field.dataType());
    }
}
