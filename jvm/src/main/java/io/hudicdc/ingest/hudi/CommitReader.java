package io.hudicdc.ingest.hudi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import org.apache.hudi.common.model.HoodieCommitMetadata;
import org.apache.hudi.common.model.HoodieWriteStat;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieTimeline;

/**
 * The completed commits of a timeline, newest first, as JSON.
 *
 * <p>Each call from Python is a message between two processes, and so is the release of each object that it returns: a
 * commit's metadata would take dozens.
 */
public final class CommitReader {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    private final HoodieTimeline timeline;
    private final Iterator<HoodieInstant> instants;

    public CommitReader(HoodieTimeline actions) {
        timeline = actions.getCommitsTimeline().filterCompletedInstants();
        instants = timeline.getReverseOrderedInstants().iterator();
    }

    /**
     * Return the next commits, at most {@code limit}, as an array; empty at the end of the timeline.
     *
     * <p>In Base64: py4j looks for escapes in a text, and decodes an array byte by byte. Either takes Python longer than to
     * read the JSON.
     */
    public String read(int limit) throws IOException {
        ArrayNode page = JSON.arrayNode();
        while (page.size() < limit && instants.hasNext()) {
            page.add(describe(instants.next()));
        }
        return Base64.getEncoder().encodeToString(page.toString().getBytes(StandardCharsets.UTF_8));
    }

    private ObjectNode describe(HoodieInstant instant) throws IOException {
        HoodieCommitMetadata metadata = timeline.readCommitMetadata(instant);
        ObjectNode commit = JSON.objectNode();
        commit.put("requested", instant.requestedTime());
        commit.put("completed", instant.getCompletionTime());
        commit.put("operation", metadata.getOperationType().name());
        commit.put(
                "is_empty",
                metadata.getExtraMetadata().isEmpty()
                        && metadata.getPartitionToWriteStats().isEmpty());
        ObjectNode values = commit.putObject("values");
        metadata.getExtraMetadata().forEach(values::put);
        ArrayNode files = commit.putArray("files");
        for (List<HoodieWriteStat> stats : metadata.getPartitionToWriteStats().values()) {
            stats.stream()
                    .filter(stat -> stat.getPath() != null && !stat.getPath().isEmpty())
                    .filter(stat -> stat.getFileSizeInBytes() > 0)
                    .forEach(stat -> files.addArray()
                            .add(stat.getFileId())
                            .add(stat.getPath())
                            .add(stat.getFileSizeInBytes()));
        }
        ArrayNode replaced = commit.putArray("replaced");
        if (instant.getAction().equals(HoodieTimeline.REPLACE_COMMIT_ACTION)) {
            timeline.readReplaceCommitMetadata(instant)
                    .getPartitionToReplaceFileIds()
                    .values()
                    .forEach(groups -> groups.forEach(replaced::add));
        }
        return commit;
    }
}
