package io.hudicdc.ingest;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Function1;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Functions that generated code calls as they are, by the names that SQL has for them. */
public final class Expressions {
    private Expressions() {}

    /** Make the functions known to one session. */
    public static void register(SparkSession session) {
        register(session, "ingest_instant", Instants.class, "micros", DataTypes.TimestampType, DataTypes.StringType);
        register(session, "ingest_ticks", Ticks.class, "micros", DataTypes.TimestampNTZType, DataTypes.LongType);
        register(
                session,
                "ingest_clock",
                Clock.class,
                "text",
                DataTypes.StringType,
                DataTypes.LongType,
                DataTypes.IntegerType);
    }

    /** Register a static method that may give null, and is not called where an argument is. */
    private static void register(
            SparkSession session, String name, Class<?> home, String method, DataType gives, DataType... takes) {
        Seq<AbstractDataType> types =
                JavaConverters.<AbstractDataType>asScalaBuffer(List.of(takes)).toList();
        Function1<Seq<Expression>, Expression> made =
                arguments -> new StaticInvoke(home, gives, method, arguments, types, true, true, true);
        session.sessionState().functionRegistry().createOrReplaceTempFunction(name, made, "scala_udf");
    }
}
