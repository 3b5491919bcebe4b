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

/** The functions that generated code calls directly, under their SQL names. */
public final class Expressions {
    private Expressions() {}

    /** Register the functions in one session. */
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
        registerCanonicalForms(session);
    }

    private static void registerCanonicalForms(SparkSession session) {
        DataType text = DataTypes.StringType;
        register(session, "ingest_md5_number", Checksums.class, "md5Number", DataTypes.LongType, text);
        register(session, "ingest_postgres_hash", Checksums.class, "postgresHash", DataTypes.LongType, text);
        register(session, "ingest_double_bits", CanonicalText.class, "doubleBits", text, DataTypes.DoubleType);
        register(session, "ingest_float_bits", CanonicalText.class, "floatBits", text, DataTypes.FloatType);
        register(session, "ingest_timestamp", CanonicalText.class, "timestamp", text, DataTypes.TimestampNTZType);
        register(session, "ingest_utc", CanonicalText.class, "timestamp", text, DataTypes.TimestampType);
    }

    /** Register a static method that may return null and is not called with null arguments. */
    private static void register(
            SparkSession session, String name, Class<?> home, String method, DataType result, DataType... arguments) {
        Seq<AbstractDataType> types = JavaConverters.<AbstractDataType>asScalaBuffer(List.of(arguments))
                .toList();
        Function1<Seq<Expression>, Expression> builder =
                children -> new StaticInvoke(home, result, method, children, types, true, true, true);
        session.sessionState().functionRegistry().createOrReplaceTempFunction(name, builder, "scala_udf");
    }
}
