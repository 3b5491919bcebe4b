package io.hudicdc.ingest.spark;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, without a process for each new file, and with one look at each file of a folder.
 *
 * <p>Where Hadoop's native library is missing, as in pyspark, it runs {@code chmod} for each file that it creates and for
 * the file of its checksum (RawLocalFileSystem.setPermission, Hadoop 3.3.4): twenty processes a small commit. To list a
 * folder it asks for each file, and for that of its checksum, whether it is there, whether it is a folder, its size and its
 * times, one after the other. Hudi lists the timeline a dozen times a commit.
 */
public final class LocalFiles extends LocalFileSystem {
    /** Made by Hadoop, by {@code fs.file.impl}. */
    public LocalFiles() {
        super(new Raw());
    }

    @Override
    public FileStatus[] listStatus(Path folder) throws IOException {
        String[] names = pathToFile(folder).list();
        if (names == null) {
            return super.listStatus(folder); // no folder, or none that can be read
        }
        Path parent = folder.makeQualified(getUri(), getWorkingDirectory());
        List<FileStatus> found = new ArrayList<>(names.length);
        for (String name : names) {
            if (name.startsWith(".") && name.endsWith(".crc")) {
                continue; // as `ChecksumFileSystem.isChecksumFile`
            }
            try {
                found.add(status(in(parent, name)));
            } catch (NoSuchFileException gone) {
                continue;
            } catch (FileSystemException
                    | InvalidPathException
                    | URISyntaxException
                    | UnsupportedOperationException unusual) {
                return super.listStatus(folder); // such as a link to itself, which Hadoop leaves out
            }
        }
        return found.toArray(FileStatus[]::new);
    }

    /** Return the path of a file in a folder. Hadoop's constructors search each text several times by a pattern. */
    private static Path in(Path folder, String name) throws URISyntaxException {
        URI uri = folder.toUri();
        String path = (folder.isRoot() ? "" : uri.getPath()) + Path.SEPARATOR + name;
        return new Path(new URI(uri.getScheme(), uri.getAuthority(), path, null, null));
    }

    private FileStatus status(Path path) throws IOException {
        PosixFileAttributes attributes = Files.readAttributes(pathToFile(path).toPath(), PosixFileAttributes.class);
        return new Listed(attributes, getDefaultBlockSize(path), path);
    }

    /** A file by its attributes. The names of owner and group are looked up when they are asked for. */
    private static final class Listed extends FileStatus {
        private static final long serialVersionUID = 1;

        private final transient PosixFileAttributes attributes;

        Listed(PosixFileAttributes attributes, long blockSize, Path path) {
            super(
                    attributes.size(),
                    attributes.isDirectory(),
                    1,
                    blockSize,
                    attributes.lastModifiedTime().toMillis(),
                    attributes.lastAccessTime().toMillis(),
                    FsPermission.valueOf("-" + PosixFilePermissions.toString(attributes.permissions())),
                    null,
                    null,
                    path);
            this.attributes = attributes;
        }

        @Override
        public String getOwner() {
            return attributes == null ? super.getOwner() : attributes.owner().getName();
        }

        @Override
        public String getGroup() {
            return attributes == null ? super.getGroup() : attributes.group().getName();
        }
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
