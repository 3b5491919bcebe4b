import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.Driver;
import org.apache.hadoop.hive.ql.processors.CommandProcessorResponse;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.serde2.SerDeUtils;
import org.apache.hadoop.hive.serde2.thrift.ThriftFormatter;
import org.apache.hudi.hive.HiveSyncTool;

/** Hive's own query engine, with its metastore, in one process. */
public final class Hive {
    private static final DateTimeFormatter TIMESTAMP = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS");
    private static final ObjectMapper MAPPER =
            new ObjectMapper().disable(JsonGenerator.Feature.QUOTE_NON_NUMERIC_NUMBERS);

    /** Answer the jobs on standard input, each by its rows or its problem. */
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // where Hive and its log print
        HiveConf conf = new HiveConf();
        // As Hive's server does, a fetch returns values, not lines of text.
        conf.set(SerDeUtils.LIST_SINK_OUTPUT_FORMATTER, ThriftFormatter.class.getName());
        conf.setInt(SerDeUtils.LIST_SINK_OUTPUT_PROTOCOL, 9);
        SessionState.start(conf);
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode job : MAPPER.readTree(System.in)) {
            ObjectNode answer = answers.addObject();
            try {
                Path path = Path.of(job.get("path").asText());
                register(conf, path);
                String columns = StreamSupport.stream(job.get("columns").spliterator(), false)
                        .map(name -> "`" + name.asText() + "`")
                        .collect(Collectors.joining(", "));
                answer.set("rows", query(conf, "select " + columns + " from " + path.getFileName()));
            } catch (Throwable problem) { // an error of a class is an answer, too
                problem.printStackTrace();
                answer.put("problem", root(problem).toString());
            }
        }
        out.write(MAPPER.writeValueAsString(answers).getBytes(StandardCharsets.UTF_8));
        out.flush();
        System.exit(0); // the metastore's threads would keep the process
    }

    /** Registers a table by the name of its folder, by Hudi's sync.  Its name without a suffix reads the newest rows. */
    private static void register(HiveConf conf, Path path) throws Exception {
        Properties options = new Properties();
        try (InputStream stored = new FileInputStream(path.resolve(".hoodie/hoodie.properties").toFile())) {
            options.load(stored); // has the partitions
        }
        options.setProperty("hoodie.datasource.meta.sync.base.path", "file:" + path);
        options.setProperty("hoodie.datasource.hive_sync.table", path.getFileName().toString());
        options.setProperty("hoodie.datasource.hive_sync.mode", "hms");
        options.setProperty("hoodie.datasource.hive_sync.support_timestamp", "true");
        new HiveSyncTool(options, conf).syncHoodieTable();
    }

    private static ArrayNode query(HiveConf conf, String sql) throws Exception {
        Driver driver = new Driver(conf);
        try {
            CommandProcessorResponse response = driver.run(sql);
            if (response.getResponseCode() != 0) {
                throw new IllegalStateException(response.getErrorMessage(), response.getException());
            }
            List<FieldSchema> fields = driver.getSchema().getFieldSchemas();
            ArrayNode rows = MAPPER.createArrayNode();
            for (List<Object[]> found = new ArrayList<>(); driver.getResults(found); found.clear()) {
                for (Object[] values : found) {
                    ArrayNode row = rows.addArray();
                    for (int i = 0; i < values.length; i++) {
                        row.add(json(fields.get(i).getType(), values[i]));
                    }
                }
            }
            return rows;
        } finally {
            driver.close();
        }
    }

    /** Returns a value as the comparison has it.  An array, a map or a struct comes as JSON. */
    private static JsonNode json(String type, Object value) throws Exception {
        if (value instanceof String && type.matches("(array|map|struct)<.*")) {
            return MAPPER.readTree((String) value);
        }
        if (value instanceof HiveDecimal) {
            return MAPPER.valueToTree(((HiveDecimal) value).bigDecimalValue().stripTrailingZeros().toPlainString());
        }
        if (value instanceof Timestamp) {
            return MAPPER.valueToTree(((Timestamp) value).toLocalDateTime().format(TIMESTAMP));
        }
        if (value instanceof Date) {
            return MAPPER.valueToTree(value.toString());
        }
        if (value instanceof byte[]) {
            return MAPPER.valueToTree(HexFormat.of().formatHex((byte[]) value));
        }
        if (value instanceof Float) {
            return MAPPER.valueToTree(((Float) value).doubleValue());
        }
        return MAPPER.valueToTree(value);
    }

    private static Throwable root(Throwable problem) {
        return problem.getCause() == null ? problem : root(problem.getCause());
    }
}
