import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.Header;
import io.debezium.engine.format.Avro;
import io.debezium.engine.format.Json;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Debezium's embedded engine in front of Kafka, in Kafka Connect's stead; it ends when its standard input does. */
public final class Engine {
    private static final int PARTITIONS = Integer.getInteger("partitions", 3);
    private final Set<String> topics = new HashSet<>();
    private final Admin admin;
    private final KafkaProducer<byte[], byte[]> producer;

    private Engine(Map<String, Object> kafka) {
        admin = Admin.create(kafka);
        producer = new KafkaProducer<>(kafka, new ByteArraySerializer(), new ByteArraySerializer());
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            properties.load(reader);
        }
        // One request in flight: a topic produced to right after its creation refuses the first ones.
        Engine sink = new Engine(Map.of("bootstrap.servers", arguments[1], "max.in.flight.requests.per.connection", 1));
        var engine = DebeziumEngine.create(KeyValueHeaderChangeEventFormat.of(Avro.class, Avro.class, Json.class))
                .using(properties)
                .using((success, message, error) -> {
                    if (!success) {
                        System.err.println("The engine stopped: " + message);
                        error.printStackTrace();
                        Runtime.getRuntime().halt(1); // its threads outlive it
                    }
                })
                .using(new DebeziumEngine.ConnectorCallback() {
                    @Override
                    public void taskStarted() {
                        System.err.println("Debezium is running. Ctrl-D stops it.");
                    }
                })
                .notifying(sink::deliver)
                .build();
        Executors.newSingleThreadExecutor().execute(engine);
        while (System.in.read() >= 0) {
            // what is written here has no meaning; the end of it has
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
        engine.close();
        System.exit(0);
    }

    /** Produces a batch, and tells Debezium, which tells the database, only when Kafka has all of it. */
    private void deliver(
            List<ChangeEvent<byte[], byte[]>> batch,
            DebeziumEngine.RecordCommitter<ChangeEvent<byte[], byte[]>> committer) throws InterruptedException {
        var sent = batch.stream().map(event -> producer.send(record(event))).toList();
        producer.flush();
        for (int at = 0; at < sent.size(); at++) {
            try {
                sent.get(at).get();
            } catch (java.util.concurrent.ExecutionException error) {
                throw new IllegalStateException(error.getCause());
            }
            committer.markProcessed(batch.get(at));
        }
        committer.markBatchFinished();
    }

    private ProducerRecord<byte[], byte[]> record(ChangeEvent<byte[], byte[]> event) {
        if (topics.add(event.destination())) {
            admin.createTopics(List.of(new NewTopic(event.destination(), PARTITIONS, (short) 1)));
        }
        var made = new ProducerRecord<>(event.destination(), event.key(), event.value());
        for (Header<?> header : event.headers()) {
            made.headers().add(header.getKey(), String.valueOf(header.getValue()).getBytes(StandardCharsets.UTF_8));
        }
        return made;
    }
}
