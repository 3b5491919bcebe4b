package io.hudicdc.ingest.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.serializer.KryoSerializer;

/**
 * Spark's serializer by Kryo, one for all tasks of a JVM.
 *
 * <p>A task gets the serializer of a shuffle with its code, and so a new one, which makes new Kryo instances. Each of
 * them registers some hundred classes.
 */
public final class SharedKryo extends KryoSerializer {
    private static final long serialVersionUID = 1;

    /** Made by Spark, by {@code spark.serializer}. */
    public SharedKryo(SparkConf conf) {
        super(conf);
    }

    private Object readResolve() {
        return SparkEnv.get().serializer();
    }
}
