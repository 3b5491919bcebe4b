import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** HDFS and YARN with one node each on loopback, until standard input ends. */
public final class Yarn {
    /** Run with a folder for data and a folder for the clients' settings. */
    public static void main(String[] arguments) {
        try {
            run(arguments);
            System.exit(0);
        } catch (Throwable problem) {
            problem.printStackTrace();
            System.exit(1); // its other threads would keep the process
        }
    }

    private static void run(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        conf.set("dfs.namenode.http-address", "127.0.0.1:0");
        // The artifact has no capacity-scheduler.xml.
        String queue = "yarn.scheduler.capacity.root.default.";
        conf.set("yarn.scheduler.capacity.root.queues", "default");
        conf.set(queue + "capacity", "100");
        conf.set(queue + "maximum-capacity", "100");
        conf.set(queue + "user-limit-factor", "1");
        conf.set(queue + "state", "RUNNING");
        conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
        conf.set("yarn.scheduler.minimum-allocation-mb", "128");
        conf.set("yarn.nodemanager.vmem-check-enabled", "false");
        conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100.0");
        conf.set("yarn.nodemanager.delete.debug-delay-sec", "0");
        conf.set("yarn.resourcemanager.hostname", "127.0.0.1");
        conf.set("yarn.minicluster.fixed.ports", "false");
        conf.set("yarn.minicluster.yarn.nodemanager.resource.memory-mb", "4096");
        MiniDFSCluster files = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
        files.waitActive();
        conf.set("fs.defaultFS", files.getURI().toString());
        MiniYARNCluster nodes = new MiniYARNCluster("yarn", 1, 1, 1);
        nodes.init(conf);
        nodes.start();
        nodes.waitForNodeManagersToConnect(30000);
        writeSettings(nodes.getConfig(), new File(arguments[1]));
        System.out.println("active " + files.getURI());
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {}
        nodes.stop();
        files.shutdown(true);
    }

    /**
     * Writes the addresses only: other settings name classes of the test artifact. Each default file of Hadoop overrides
     * the site files before it, so YARN's settings are in a file of their own.
     */
    private static void writeSettings(Configuration conf, File folder) throws Exception {
        write(conf, new File(folder, "core-site.xml"), "fs.defaultFS");
        write(
                conf,
                new File(folder, "yarn-site.xml"),
                "yarn.resourcemanager.hostname",
                "yarn.resourcemanager.address",
                "yarn.resourcemanager.scheduler.address");
    }

    private static void write(Configuration conf, File file, String... keys) throws Exception {
        Configuration settings = new Configuration(false);
        for (String key : keys) {
            settings.set(key, conf.get(key));
        }
        try (OutputStream out = new FileOutputStream(file)) {
            settings.writeXml(out);
        }
    }
}
