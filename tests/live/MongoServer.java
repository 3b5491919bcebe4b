import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/** Serves MongoDB's protocol on loopback, in memory, until its input ends. */
final class Serve {
    /** The server names 8, of MongoDB 4.2; drivers of today begin with 9, and the messages are the same. */
    private static final int WIRE_VERSION = 9;

    public static void main(String[] arguments) throws Exception {
        MongoVersion version = new MongoVersion() {
            @Override
            public List<Integer> getVersionArray() {
                return List.of(4, 4, 0);
            }

            @Override
            public int getWireVersion() {
                return WIRE_VERSION;
            }
        };
        MongoServer server = new MongoServer(new MemoryBackend().version(version));
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        System.out.println("up");
        while (System.in.read() >= 0) {}
        server.shutdownNow();
    }
}
