package io.hudicdc.ingest.spark;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** The contents of small files, each with the size and time that it had. The least recently used ones leave. */
final class TimelineCache {
    static final int LARGEST = 1 << 20;
    private static final int CAPACITY = 16 << 20;

    private final Map<Path, Content> contents = new LinkedHashMap<>(16, 0.75f, true);
    private long size;

    /** Return what is known of a file, or null. */
    synchronized byte[] get(Path path) {
        Content content = contents.get(path);
        return content == null ? null : content.bytes;
    }

    /** Keep a content. Without a status, the next listing gives its time. */
    synchronized void put(Path path, byte[] bytes, FileStatus status) {
        forget(path);
        contents.put(path, new Content(bytes, status));
        size += bytes.length;
        Iterator<Content> eldest = contents.values().iterator();
        while (size > CAPACITY) {
            size -= eldest.next().bytes.length;
            eldest.remove();
        }
    }

    /** Forget a file that looks different now. */
    synchronized void compare(Path path, FileStatus status) {
        Content content = contents.get(path);
        if (content != null && !content.agrees(status)) {
            forget(path);
        }
    }

    private void forget(Path path) {
        Content content = contents.remove(path);
        size -= content == null ? 0 : content.bytes.length;
    }

    private static final class Content {
        private final byte[] bytes;
        private FileStatus status;

        Content(byte[] bytes, FileStatus status) {
            this.bytes = bytes;
            this.status = status;
        }

        boolean agrees(FileStatus now) {
            if (status == null) {
                status = now;
            }
            return now.getLen() == bytes.length && now.getModificationTime() == status.getModificationTime();
        }
    }
}
