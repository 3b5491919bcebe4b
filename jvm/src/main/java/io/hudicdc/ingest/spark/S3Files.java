package io.hudicdc.ingest.spark;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PositionedReadable;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/**
 * Hadoop's S3, which reads a completed instant of Hudi once, and the properties of a table if they have changed.
 *
 * <p>A commit reads the newest instants two dozen times, and the properties twenty times, with two requests each. A completed
 * instant never changes. Hudi lists the timeline whenever it loads it: a file of another size or time is forgotten. Of the
 * properties, size and time are asked for each time.
 */
public final class S3Files extends S3AFileSystem {
    private static final Pattern COMPLETED = Pattern.compile("\\d{17}(_\\d{17})?\\.(?!inflight)[a-z]+");
    /** Where instants are, in version 6 next to the properties. */
    private static final Set<String> FOLDERS = Set.of("timeline", ".hoodie");

    private static final String PROPERTIES = "hoodie.properties";
    private static final TimelineCache CACHE = new TimelineCache();
    /** S3 gives seconds: a file that is younger may change, and look the same. */
    private static final long SETTLED_MS = 2_000;

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        Path folder = path.getParent();
        if (folder == null || !FOLDERS.contains(folder.getName())) {
            return super.open(path, bufferSize);
        }
        if (COMPLETED.matcher(path.getName()).matches()) {
            return known(path, bufferSize, null);
        }
        if (!path.getName().equals(PROPERTIES)) {
            return super.open(path, bufferSize);
        }
        FileStatus status = getFileStatus(path);
        CACHE.compare(status.getPath(), status);
        boolean isSettled = status.getModificationTime() < System.currentTimeMillis() - SETTLED_MS;
        return isSettled ? known(path, bufferSize, status) : super.open(path, bufferSize);
    }

    @Override
    public FileStatus[] listStatus(Path folder) throws IOException {
        FileStatus[] listed = super.listStatus(folder);
        for (FileStatus status : listed) {
            CACHE.compare(status.getPath(), status);
        }
        return listed;
    }

    /** The content that is known, or that is read now and kept. */
    private FSDataInputStream known(Path path, int bufferSize, FileStatus status) throws IOException {
        Path key = makeQualified(path);
        byte[] known = CACHE.get(key);
        if (known == null) {
            FSDataInputStream stream = super.open(path, bufferSize);
            known = stream.readNBytes(TimelineCache.LARGEST);
            if (known.length == TimelineCache.LARGEST) {
                stream.seek(0);
                return stream;
            }
            stream.close();
            CACHE.put(key, known, status);
        }
        return new FSDataInputStream(new Content(known));
    }

    private static final class Content extends ByteArrayInputStream implements Seekable, PositionedReadable {
        Content(byte[] bytes) {
            super(bytes);
        }

        @Override
        public void seek(long position) throws IOException {
            if (position < 0 || position > count) {
                throw new EOFException("position " + position + " of " + count);
            }
            pos = (int) position;
        }

        @Override
        public long getPos() {
            return pos;
        }

        @Override
        public boolean seekToNewSource(long position) {
            return false;
        }

        @Override
        public int read(long position, byte[] target, int offset, int length) {
            if (position >= count) {
                return -1;
            }
            int read = Math.min(length, count - (int) position);
            System.arraycopy(buf, (int) position, target, offset, read);
            return read;
        }

        @Override
        public void readFully(long position, byte[] target, int offset, int length) throws IOException {
            if (read(position, target, offset, length) < length) {
                throw new EOFException("end of " + count + " bytes");
            }
        }

        @Override
        public void readFully(long position, byte[] target) throws IOException {
            readFully(position, target, 0, target.length);
        }
    }
}
