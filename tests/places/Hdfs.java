import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A name node and a data node of HDFS on loopback, until standard input ends. */
public final class Hdfs {
    /** Run with a folder and the name node's port; each line on standard input restarts the data node. */
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        conf.set("dfs.namenode.http-address", "127.0.0.1:0");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf)
                .nameNodePort(Integer.parseInt(arguments[1]))
                .numDataNodes(1)
                .build();
        cluster.waitActive();
        System.out.println("active");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            cluster.restartDataNode(0, true);
            cluster.waitActive();
            System.out.println("active");
        }
        cluster.shutdown(true);
    }
}
