import com.amazonaws.services.schemaregistry.common.configs.GlueSchemaRegistryConfiguration;
import com.amazonaws.services.schemaregistry.serializers.SerializationDataEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** Prints what AWS Glue's serializer writes around a record: how recorded.json was made, see README.md. */
public final class GlueRecorder {
    public static void main(String[] args) throws Exception {
        for (String side : new String[] {"key", "value"}) {
            for (String compression : new String[] {"NONE", "ZLIB"}) {
                Map<String, Object> config = new HashMap<>();
                config.put("region", "eu-west-1");
                config.put("compression", compression);
                byte[] record = Files.readAllBytes(Path.of(side + ".bin"));
                UUID id = UUID.nameUUIDFromBytes(side.getBytes("UTF-8"));
                byte[] bytes = new SerializationDataEncoder(new GlueSchemaRegistryConfiguration(config)).write(record, id);
                System.out.println("RECORDED " + side + " " + id + " " + compression + " " + hex(bytes));
            }
        }
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte octet : bytes) {
            text.append(String.format("%02x", octet));
        }
        return text.toString();
    }
}
