package io.hudicdc.ingest.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.serializer.KryoSerializer;

/**
 * A context that takes closures as they are, and whose tasks share their Kryo instances.
 *
 * <p>Spark reads the class file of each closure to find statements that would leave it, and serializes the closure to see
 * whether it can be ({@code ClosureCleaner}). Here all closures are compiled code of Spark, Hudi and ingest. One that
 * cannot be serialized fails when Spark submits its stage.
 */
public final class TunedContext extends SparkContext {
    private static final String SERIALIZER = "spark.serializer";

    /** Start a context, as Spark does. */
    public TunedContext(SparkConf conf) {
        super(conf);
    }

    @Override
    public <F> F clean(F closure, boolean checkSerializable) {
        return closure;
    }

    @Override
    public SparkEnv createSparkEnv(SparkConf conf, boolean isLocal, LiveListenerBus listeners) {
        if (!isLocal || !conf.get(SERIALIZER).equals(KryoSerializer.class.getName())) {
            return super.createSparkEnv(conf, isLocal, listeners);
        }
        conf.set(SERIALIZER, SharedKryo.class.getName());
        try {
            return super.createSparkEnv(conf, isLocal, listeners);
        } finally {
            conf.set(SERIALIZER, KryoSerializer.class.getName()); // Hudi accepts no other
        }
    }
}
