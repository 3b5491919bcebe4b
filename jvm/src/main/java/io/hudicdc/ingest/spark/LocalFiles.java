package io.hudicdc.ingest.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, without a process for each new file.
 *
 * <p>Where Hadoop's native library is missing, as in pyspark, it runs {@code chmod} for each file that it creates and for
 * the file of its checksum (RawLocalFileSystem.setPermission, Hadoop 3.3.4): twenty processes a small commit.
 */
public final class LocalFiles extends LocalFileSystem {
    /** Made by Hadoop, by {@code fs.file.impl}. */
    public LocalFiles() {
        super(new Raw());
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            if (permission.getStickyBit()) {
                super.setPermission(path, permission);
                return;
            }
            try {
                Files.setPosixFilePermissions(
                        pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
            } catch (InvalidPathException | UnsupportedOperationException inexpressible) {
                super.setPermission(path, permission);
            }
        }
    }
}
