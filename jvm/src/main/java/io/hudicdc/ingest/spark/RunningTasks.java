package io.hudicdc.ingest.spark;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * The tasks at work in this JVM, for the progress of a run in local mode.
 *
 * <p>There Spark shows the metrics of a task only after it has ended: its heartbeat hands the driver the executor's own
 * accumulators, which have no names ({@code AccumulatorV2.name}, Spark 3.5.7).
 */
public final class RunningTasks implements SparkPlugin, ExecutorPlugin {
    private static final Map<Long, TaskContext> RUNNING = new ConcurrentHashMap<>();

    /** Return the records that the running tasks of a stage have read from its source. */
    public static long recordsRead(int stageId) {
        return RUNNING.values().stream()
                .filter(task -> task.stageId() == stageId)
                .mapToLong(task -> task.taskMetrics().inputMetrics().recordsRead())
                .sum();
    }

    @Override
    public DriverPlugin driverPlugin() {
        return null;
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return this;
    }

    @Override
    public void onTaskStart() {
        TaskContext task = TaskContext.get();
        RUNNING.put(task.taskAttemptId(), task);
        task.addTaskCompletionListener(ended -> {
            RUNNING.remove(ended.taskAttemptId());
        });
    }
}
