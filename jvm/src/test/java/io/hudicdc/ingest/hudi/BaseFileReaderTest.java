package io.hudicdc.ingest.hudi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.adapter.Spark3_5Adapter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.SparkColumnarFileReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.immutable.Map$;

/** The reader by rows is the referee: both give the same rows, byte by byte. */
final class BaseFileReaderTest {
    private static final int ROWS = 300;
    private static final int BATCH = 64;
    private static final String ROW_NUMBER = "_tmp_metadata_row_index";
    private static final String SPARK = "org.apache.spark.version";

    private enum Style {
        DICTIONARY,
        PLAIN,
        DELTA,
        SPLIT
    }

    @TempDir
    java.nio.file.Path folder;

    private final Configuration configuration = configuration();
    private final Random dice = new Random(38);

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "boolean | boolean",
                "int32 | int",
                "int64 | bigint",
                "float | float",
                "double | double",
                "binary %s (STRING) | string",
                "binary | binary",
                "int32 %s (DATE) | date",
                "int32 %s (INTEGER(8,true)) | tinyint",
                "int32 %s (DECIMAL(7,2)) | decimal(7,2)",
                "int64 %s (DECIMAL(15,3)) | decimal(15,3)",
                "fixed_len_byte_array(4) %s (DECIMAL(7,2)) | decimal(7,2)",
                "fixed_len_byte_array(8) %s (DECIMAL(17,5)) | decimal(17,5)",
                "fixed_len_byte_array(16) %s (DECIMAL(38,9)) | decimal(38,9)",
                "int64 %s (TIMESTAMP(MICROS,true)) | timestamp",
                "int64 %s (TIMESTAMP(MILLIS,true)) | timestamp",
                "int64 %s (TIMESTAMP(MICROS,false)) | timestamp_ntz",
                "int64 %s (TIMESTAMP(MILLIS,false)) | timestamp_ntz",
                "int96 | timestamp",
                "int32 %s (INTEGER(16,true)) | smallint",
                "int32 %s (INTEGER(32,false)) | bigint",
                "int64 %s (INTEGER(64,false)) | decimal(20,0)",
                "fixed_len_byte_array(16) %s (DECIMAL(9,2)) | decimal(9,2)",
                "fixed_len_byte_array(16) %s (DECIMAL(18,2)) | decimal(18,2)",
                "binary %s (ENUM) | string",
                "binary %s (JSON) | string",
                "binary %s (BSON) | binary",
                "fixed_len_byte_array(5) | binary",
            })
    void columnsOfAFilesOwnTypesAreReadInBatches(String parquet, String type) throws IOException {
        for (String need : List.of("optional", "required")) {
            for (Style style : List.of(Style.DICTIONARY, Style.PLAIN, Style.DELTA)) {
                PartitionedFile file = write(column(need, parquet), style, Map.of(SPARK, "3.5.7"));
                for (String wanted : List.of("v " + type, "v " + type + ", " + ROW_NUMBER + " bigint not null")) {
                    assertTrue(holds(file, wanted), wanted);
                    assertEquals(rows(reference(), file, wanted), rows(reader(), file, wanted));
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"int32 %s (DATE) | date", "int64 %s (TIMESTAMP(MICROS,true)) | timestamp"})
    void datesOfTheOldCalendarAreConvertedAsBefore(String column) throws IOException {
        Map<String, String> legacy = Map.of(SPARK, "2.4.8", "org.apache.spark.legacyDateTime", "");
        PartitionedFile file = write(column("optional", column.split(" \\| ")[0]), Style.DICTIONARY, legacy);
        String wanted = "v " + column.split(" \\| ")[1];
        assertTrue(holds(file, wanted));
        assertEquals(rows(reference(), file, wanted), rows(reader(), file, wanted));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"v bigint", "v double", "v string", "v int, added string", "V int", "v int, s struct<a: int>"})
    void otherColumnsAreReadByRows(String wanted) throws IOException {
        PartitionedFile file = write(column("optional", "int32"), Style.PLAIN, Map.of(SPARK, "3.5.7"));
        assertFalse(holds(file, wanted));
        assertEquals(rows(reference(), file, wanted), rows(reader(), file, wanted));
    }

    @ParameterizedTest
    @ValueSource(ints = {9, 18, 20})
    void decimalsOfAnyLengthAreReadByRows(int digits) throws IOException {
        String type = "DECIMAL(" + digits + ",2)";
        PartitionedFile file = write(column("optional", "binary %s (" + type + ")"), Style.PLAIN, Map.of());
        assertFalse(holds(file, "v " + type));
        assertEquals(rows(reference(), file, "v " + type), rows(reader(), file, "v " + type));
    }

    @Test
    void anEncodingThatTheVectorizedReaderLacksIsReadByRows() throws IOException {
        PartitionedFile file = write(column("optional", "double"), Style.SPLIT, Map.of(SPARK, "3.5.7"));
        assertFalse(holds(file, "v double"));
        assertEquals(rows(reference(), file, "v double"), rows(reader(), file, "v double"));
    }

    @Test
    void aSmallFileIsReadByRows() throws IOException {
        PartitionedFile file = write(column("optional", "int32"), Style.PLAIN, Map.of());
        SparkColumnarFileReader adapted =
                new TunedAdapter().createParquetFileReader(false, conf(), options("true"), configuration);
        assertFalse(((BaseFileReader) adapted).holds(file, StructType.fromDDL("v int"), configuration));
        assertEquals(rows(reference(), file, "v int"), rows(adapted, file, "v int"));
    }

    @Test
    void largeRowsAreReadByRows() throws IOException {
        MessageType schema = column("optional", "binary %s (STRING)");
        Group row = new SimpleGroup(schema).append("v", "x".repeat((32 << 20) / BATCH + 1));
        PartitionedFile file = write(schema, List.of(row, row), Style.PLAIN, Map.of());
        assertFalse(holds(file, "v string"));
        assertEquals(2, rows(reader(), file, "v string").size());
    }

    private static MessageType column(String need, String parquet) {
        String named = parquet.contains("%s") ? String.format(parquet, "v") : parquet + " v";
        return MessageTypeParser.parseMessageType("message m { " + need + " " + named + "; }");
    }

    private PartitionedFile write(MessageType schema, Style style, Map<String, String> metadata) throws IOException {
        List<Group> groups = new ArrayList<>();
        for (int row = 0; row < ROWS; row++) {
            Group group = new SimpleGroup(schema);
            boolean isRequired = schema.getType(0).isRepetition(org.apache.parquet.schema.Type.Repetition.REQUIRED);
            if (isRequired || dice.nextInt(5) > 0) {
                add(group, schema.getType(0).asPrimitiveType(), dice.nextInt(style == Style.DICTIONARY ? 20 : 1 << 30));
            }
            groups.add(group);
        }
        return write(schema, groups, style, metadata);
    }

    private PartitionedFile write(MessageType schema, List<Group> groups, Style style, Map<String, String> metadata)
            throws IOException {
        Path path = new Path(folder.resolve(dice.nextInt(1 << 30) + ".parquet").toString());
        try (ParquetWriter<Group> writer = ExampleParquetWriter.builder(path)
                .withType(schema)
                .withDictionaryEncoding(style == Style.DICTIONARY)
                .withWriterVersion(style == Style.DELTA ? WriterVersion.PARQUET_2_0 : WriterVersion.PARQUET_1_0)
                .withByteStreamSplitEncoding(style == Style.SPLIT)
                .withPageSize(512)
                .withExtraMetaData(metadata)
                .build()) {
            for (Group group : groups) {
                writer.write(group);
            }
        }
        FileStatus status = path.getFileSystem(configuration).getFileStatus(path);
        return new PartitionedFile(
                InternalRow.empty(),
                SparkPath.fromPath(path),
                0,
                status.getLen(),
                new String[0],
                0,
                status.getLen(),
                Map$.MODULE$.empty());
    }

    /** Add a value made from a seed, as large as the type allows, and negative every other time. */
    private static void add(Group group, PrimitiveType type, int seed) {
        long number = (seed % 2 == 0 ? 1 : -1) * (seed * 2654435761L % 9_999_999);
        switch (type.getPrimitiveTypeName()) {
            case BOOLEAN:
                group.add("v", seed % 2 == 0);
                break;
            case INT32:
                group.add("v", (int) (type.toString().contains("8,true") ? number % 128 : number));
                break;
            case INT64:
                group.add("v", number * 3_000_000);
                break;
            case FLOAT:
                group.add("v", seed == 0 ? Float.NaN : number / 7f);
                break;
            case DOUBLE:
                group.add("v", seed == 0 ? Double.NEGATIVE_INFINITY : number / 7d);
                break;
            case INT96:
                group.add("v", Binary.fromConstantByteArray(julian(seed)));
                break;
            case FIXED_LEN_BYTE_ARRAY:
                group.add("v", Binary.fromConstantByteArray(padded(number, type.getTypeLength())));
                break;
            default:
                boolean isText = type.toString().matches(".*(STRING|ENUM|JSON).*");
                group.add(
                        "v",
                        isText ? Binary.fromString(number + " ü 👍") : Binary.fromConstantByteArray(padded(number, 8)));
        }
    }

    private static byte[] padded(long number, int length) {
        byte[] digits = BigInteger.valueOf(number).toByteArray();
        byte[] all = new byte[length];
        Arrays.fill(all, (byte) (number < 0 ? -1 : 0));
        System.arraycopy(digits, 0, all, length - digits.length, digits.length);
        return all;
    }

    /** Return a time of the day and the day, as Impala and Hive write them. */
    private static byte[] julian(int seed) {
        return java.nio.ByteBuffer.allocate(12)
                .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                .putLong(seed * 1000L)
                .putInt(2_440_588 + seed % 10_000)
                .array();
    }

    private List<InternalRow> rows(SparkColumnarFileReader reader, PartitionedFile file, String wanted) {
        Iterator<InternalRow> found = reader.read(
                file,
                StructType.fromDDL(wanted),
                new StructType(),
                Option.empty(),
                JavaConverters.asScalaBuffer(List.of()),
                new HadoopStorageConfiguration(configuration),
                Option.empty());
        List<InternalRow> rows = new ArrayList<>();
        while (found.hasNext()) {
            rows.add(found.next().copy());
        }
        assertFalse(rows.isEmpty());
        return rows;
    }

    private boolean holds(PartitionedFile file, String wanted) {
        return reader().holds(file, StructType.fromDDL(wanted), configuration);
    }

    private BaseFileReader reader() {
        SparkColumnarFileReader byBatches =
                new Spark3_5Adapter().createParquetFileReader(true, conf(), options("false"), configuration);
        return new BaseFileReader(reference(), byBatches, BATCH, 0);
    }

    private SparkColumnarFileReader reference() {
        return new Spark3_5Adapter().createParquetFileReader(false, conf(), options("true"), configuration);
    }

    /** Return the option that each reader needs. */
    private static scala.collection.immutable.Map<String, String> options(String isReturningBatch) {
        scala.collection.immutable.Map<String, String> none = Map$.MODULE$.empty();
        return none.$plus(new Tuple2<>(FileFormat.OPTION_RETURNING_BATCH(), isReturningBatch));
    }

    private static SQLConf conf() {
        SQLConf conf = new SQLConf();
        conf.setConfString(SQLConf.PARQUET_VECTORIZED_READER_BATCH_SIZE().key(), Integer.toString(BATCH));
        return conf;
    }

    /** Return a configuration with the entries that Hudi sets for a merge (SparkReaderContextFactory). */
    private static Configuration configuration() {
        Configuration configuration = new Configuration();
        configuration.setBoolean(SQLConf.NESTED_SCHEMA_PRUNING_ENABLED().key(), false);
        configuration.setBoolean(SQLConf.CASE_SENSITIVE().key(), false);
        configuration.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING().key(), false);
        configuration.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP().key(), true);
        configuration.setBoolean("spark.sql.legacy.parquet.nanosAsLong", false);
        configuration.setBoolean("spark.sql.parquet.inferTimestampNTZ.enabled", false);
        configuration.set(SQLConf.SESSION_LOCAL_TIMEZONE().key(), "UTC");
        return configuration;
    }
}
