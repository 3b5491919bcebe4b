import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;

/** Prints what Apicurio's Avro serializer writes, for each id form: how recorded.json was made, see README.md. */
public final class ApicurioRecorder {
    private static final String SERDE = "io.apicurio.registry.serde.";

    public static void main(String[] args) throws Exception {
        String registry = args[0];
        String version = args[1];
        String longHandler = version.startsWith("2") ? "DefaultIdHandler" : "Legacy8ByteIdHandler";
        String intHandler = version.startsWith("2") ? "Legacy4ByteIdHandler" : "Default4ByteIdHandler";
        for (String side : new String[] {"key", "value"}) {
            for (String use : new String[] {"globalId", "contentId"}) {
                record(registry, side, use, longHandler, false);
                record(registry, side, use, intHandler, false);
                record(registry, side, use, longHandler, true);
            }
        }
    }

    private static void record(String registry, String side, String use, String handler, boolean headers)
            throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("apicurio.registry.url", registry);
        config.put("apicurio.registry.use-id", use);
        config.put("apicurio.registry.id-handler", SERDE + handler);
        config.put("apicurio.registry.headers.enabled", headers);
        config.put("apicurio.registry.find-latest", true);
        config.put("apicurio.registry.artifact.group-id", "default");
        @SuppressWarnings("unchecked")
        Serializer<Object> serializer =
                (Serializer<Object>) Class.forName(SERDE + "avro.AvroKafkaSerializer").getConstructor().newInstance();
        serializer.configure(config, side.equals("key"));
        Schema schema = new Schema.Parser().parse(Files.readString(Path.of(side + ".avsc")));
        Object record = new GenericDatumReader<Object>(schema)
                .read(null, DecoderFactory.get().jsonDecoder(schema, Files.readString(Path.of(side + ".json"))));
        RecordHeaders written = new RecordHeaders();
        byte[] bytes = serializer.serialize("framings2", written, record);
        StringBuilder names = new StringBuilder();
        for (Header header : written) {
            names.append(' ').append(header.key()).append('=').append(hex(header.value()));
        }
        System.out.println("RECORDED " + side + " " + use + " " + (headers ? "headers" : handler) + " " + hex(bytes) + names);
        serializer.close();
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte octet : bytes) {
            text.append(String.format("%02x", octet));
        }
        return text.toString();
    }
}
