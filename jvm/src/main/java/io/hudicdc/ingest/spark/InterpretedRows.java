package io.hudicdc.ingest.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.internal.SQLConf;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.reflect.ClassTag$;

/**
 * Rows of a plan whose expressions Spark interprets, without generated code.
 *
 * <p>A task decides this by its settings. Spark gives it those of the action that runs, so these rows bring their own.
 */
final class InterpretedRows extends RDD<InternalRow> {
    private static final long serialVersionUID = 1L;

    private final Map<String, String> settings;

    InterpretedRows(RDD<InternalRow> rows, SQLConf conf) {
        super(rows, ClassTag$.MODULE$.apply(InternalRow.class));
        settings = new HashMap<>(JavaConverters.mapAsJavaMap(conf.getAllConfs()));
    }

    /** Return the settings of a session, but without generated code. */
    static SQLConf settings(SparkSession session) {
        SQLConf conf = session.sessionState().conf().clone();
        conf.setConfString(SQLConf.WHOLESTAGE_CODEGEN_ENABLED().key(), "false");
        conf.setConfString(SQLConf.CODEGEN_FACTORY_MODE().key(), "NO_CODEGEN");
        return conf;
    }

    @Override
    public Partition[] getPartitions() {
        return parent().partitions();
    }

    @Override
    public Iterator<InternalRow> compute(Partition split, TaskContext context) {
        SQLConf conf = new SQLConf();
        settings.forEach(conf::setConfString);
        return SQLConf.withExistingConf(conf, () -> parent().iterator(split, context));
    }

    private RDD<InternalRow> parent() {
        return firstParent(elementClassTag());
    }
}
