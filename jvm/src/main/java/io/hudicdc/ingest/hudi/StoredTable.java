package io.hudicdc.ingest.hudi;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.HoodieCLIUtils;
import org.apache.hudi.HoodieSchemaConversionUtils;
import org.apache.hudi.client.SparkRDDWriteClient;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.TableSchemaResolver;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.versioning.TimelineLayoutVersion;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructField;
import scala.Predef;
import scala.Tuple2;
import scala.collection.JavaConverters;

/** A Hudi table: its facts, and writes to it, each in one call: see {@link CommitReader}. */
public final class StoredTable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final boolean WITH_HUDI_COLUMNS = false;
    /** Files of a folder from which on a listing costs an object store less than a question for each. */
    private static final int ENOUGH_TO_LIST = 5;

    private StoredTable() {}

    /** Open the table at a path. */
    public static HoodieTableMetaClient open(Configuration conf, String path) {
        return HoodieTableMetaClient.builder()
                .setConf(HadoopFSUtils.getStorageConfWithCopy(conf))
                .setBasePath(path)
                .build();
    }

    /** Return type, columns of the key and of the partitions, version, and all properties of an open table, as JSON. */
    public static String config(HoodieTableMetaClient client) throws JsonProcessingException {
        HoodieTableConfig config = client.getTableConfig();
        ObjectNode answer = JSON.createObjectNode();
        answer.put("type", config.getTableType().name());
        answer.set("keys", JSON.valueToTree(config.getRecordKeyFields().orElse(new String[0])));
        answer.set("partitions", JSON.valueToTree(config.getPartitionFields().orElse(new String[0])));
        answer.put("version", config.getTableVersion().versionCode());
        answer.set("indexes", JSON.valueToTree(config.getMetadataPartitions()));
        answer.set("properties", JSON.valueToTree(config.getProps()));
        return JSON.writeValueAsString(answer);
    }

    /** Return name, type as DDL and nullability of each column; null before the first commit. */
    public static String fields(HoodieTableMetaClient client) {
        Option<HoodieSchema> schema = new TableSchemaResolver(client).getTableSchemaIfPresent(WITH_HUDI_COLUMNS);
        if (!schema.isPresent()) {
            return null;
        }
        ArrayNode fields = JsonNodeFactory.instance.arrayNode();
        for (StructField field : HoodieSchemaConversionUtils.convertHoodieSchemaToStructType(schema.get())
                .fields()) {
            fields.addArray()
                    .add(field.name())
                    .add(field.dataType().catalogString())
                    .add(field.nullable());
        }
        return fields.toString();
    }

    /**
     * Return requested time, time of completion, action and state of each instant of the active timeline.
     *
     * <p>A table of version 6 does not record when an action ended: Hudi gives the time of its file, in the JVM's zone. The
     * requested time, by which such tables are read, stands for it.
     */
    public static String timeline(HoodieTableMetaClient client) {
        ArrayNode instants = JsonNodeFactory.instance.arrayNode();
        boolean recordsEnds = client.getTimelineLayoutVersion().getVersion() > TimelineLayoutVersion.VERSION_1;
        for (HoodieInstant instant : client.getActiveTimeline().getInstants()) {
            instants.addArray()
                    .add(instant.requestedTime())
                    .add(recordsEnds || !instant.isCompleted() ? instant.getCompletionTime() : instant.requestedTime())
                    .add(instant.getAction())
                    .add(instant.getState().name());
        }
        return instants.toString();
    }

    /** Write rows by Hudi's data source; the options are JSON. */
    public static void append(Dataset<Row> rows, String options, String path) throws JsonProcessingException {
        // Always append: in Spark's mode overwrite, Hudi deletes the table and its timeline (HUDI-6286).
        rows.write()
                .format("hudi")
                .options(parsed(options))
                .mode(SaveMode.Append)
                .save(path);
    }

    /** Open a table for its services, by the options of a write, which are JSON. */
    public static SparkRDDWriteClient<?> writer(SparkSession session, String path, String options)
            throws JsonProcessingException {
        scala.collection.immutable.Map<String, String> chosen =
                JavaConverters.mapAsScalaMap(parsed(options)).toMap(Predef.<Tuple2<String, String>>$conforms());
        return HoodieCLIUtils.createHoodieWriteClient(session, path, chosen, scala.Option.empty());
    }

    private static Map<String, String> parsed(String options) throws JsonProcessingException {
        return JSON.readValue(options, new TypeReference<Map<String, String>>() {});
    }

    /** Return the bytes of files below a folder, null for a missing one; the names are separated by line feeds. */
    public static String sizes(Configuration conf, String folder, String names) throws IOException {
        FileSystem storage = new Path(folder).getFileSystem(conf);
        List<Path> files =
                names.lines().map(name -> new Path(folder + "/" + name)).collect(Collectors.toList());
        Map<Path, Map<String, Long>> listed = new HashMap<>();
        for (var siblings :
                files.stream().collect(Collectors.groupingBy(Path::getParent)).entrySet()) {
            if (siblings.getValue().size() >= ENOUGH_TO_LIST) {
                listed.put(siblings.getKey(), list(storage, siblings.getKey()));
            }
        }
        ArrayNode sizes = JsonNodeFactory.instance.arrayNode();
        for (Path file : files) {
            Map<String, Long> siblings = listed.get(file.getParent());
            sizes.add(siblings == null ? size(storage, file) : siblings.get(file.getName()));
        }
        return sizes.toString();
    }

    private static Map<String, Long> list(FileSystem storage, Path folder) throws IOException {
        Map<String, Long> sizes = new HashMap<>();
        try {
            for (FileStatus file : storage.listStatus(folder)) {
                sizes.put(file.getPath().getName(), file.getLen());
            }
        } catch (FileNotFoundException missing) {
            return Map.of();
        }
        return sizes;
    }

    private static Long size(FileSystem storage, Path path) throws IOException {
        try {
            return storage.getFileStatus(path).getLen();
        } catch (FileNotFoundException missing) {
            return null;
        }
    }
}
