package io.hudicdc.ingest.hudi;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.storage.StoragePath;

/**
 * The file of a table's properties, replaced in one step where the storage can rename over a file.
 *
 * <p>Hudi deletes the file, creates it, then writes it, with a backup next to it. Spark finds no table as long as it
 * is empty, and after a kill at that moment (HoodieTableConfig.modify, Hudi 1.2.0). Object stores show a file only when
 * it is whole: there Hudi's way leaves the backup or the file.
 */
public final class PropertiesFile {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final boolean OVERWRITE = true;
    private static final boolean RECURSIVE = false;

    private PropertiesFile() {}

    /**
     * Set the properties of an open table that differ, and return whether any did. Call only as the writer.
     *
     * <p>A rewrite that was killed is completed first.
     *
     * @param wanted names and values, as JSON
     */
    public static boolean update(HoodieTableMetaClient client, String wanted) throws IOException {
        Properties current = client.getTableConfig().getProps();
        Properties changed = new Properties();
        JSON.readValue(wanted, new TypeReference<Map<String, String>>() {}).forEach((name, value) -> {
            if (!value.equals(current.getProperty(name))) {
                changed.put(name, value);
            }
        });
        if (changed.isEmpty()) {
            return false;
        }
        write(client, changed);
        client.reload();
        return true;
    }

    private static void write(HoodieTableMetaClient client, Properties changed) throws IOException {
        StoragePath home = client.getMetaPath();
        Configuration conf = client.getStorage().getConf().unwrapAs(Configuration.class);
        Path path = new Path(home.toString(), HoodieTableConfig.HOODIE_PROPERTIES_FILE);
        FileSystem files = path.getFileSystem(conf);
        if (!(files instanceof LocalFileSystem) && !"hdfs".equals(files.getUri().getScheme())) {
            HoodieTableConfig.update(client.getStorage(), home, changed);
            return;
        }
        Path backup = new Path(home.toString(), HoodieTableConfig.HOODIE_PROPERTIES_FILE_BACKUP);
        if (files.exists(backup)) {
            HoodieTableConfig.recover(client.getStorage(), home);
        }
        Properties properties = new Properties();
        try (InputStream stream = files.open(path)) {
            properties.load(stream);
        }
        properties.putAll(changed);
        replace(files, path, properties, conf);
    }

    private static void replace(FileSystem files, Path path, Properties properties, Configuration conf)
            throws IOException {
        Path scratch = path.suffix(".new");
        if (files instanceof LocalFileSystem) {
            LocalFileSystem local = (LocalFileSystem) files;
            store(local.getRawFileSystem(), scratch, properties);
            // Without checksums: no reader compares them with those of the other file.
            local.getRawFileSystem().delete(local.getChecksumFile(path), RECURSIVE);
            Files.move(
                    Paths.get(scratch.toUri().getPath()),
                    Paths.get(path.toUri().getPath()),
                    StandardCopyOption.ATOMIC_MOVE);
        } else {
            store(files, scratch, properties);
            FileContext.getFileContext(files.getUri(), conf).rename(scratch, path, Options.Rename.OVERWRITE);
        }
    }

    private static void store(FileSystem files, Path path, Properties properties) throws IOException {
        try (OutputStream stream = files.create(path, OVERWRITE)) {
            properties.store(stream, "Properties of this table");
        }
    }
}
