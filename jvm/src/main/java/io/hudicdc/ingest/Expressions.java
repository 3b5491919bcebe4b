package io.hudicdc.ingest;

import io.hudicdc.ingest.checksum.CanonicalText;
import io.hudicdc.ingest.checksum.Checksums;
import io.hudicdc.ingest.checksum.Ranges;
import io.hudicdc.ingest.checksum.RowChecksum;
import io.hudicdc.ingest.checksum.SaltedHash;
import io.hudicdc.ingest.json.DocumentKey;
import io.hudicdc.ingest.json.DocumentText;
import io.hudicdc.ingest.json.JsonText;
import io.hudicdc.ingest.position.Lsn;
import io.hudicdc.ingest.position.PaddedText;
import io.hudicdc.ingest.position.Sequence;
import io.hudicdc.ingest.time.Clock;
import io.hudicdc.ingest.time.Instants;
import io.hudicdc.ingest.time.Ticks;
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
        register(session, "ingest_number", CanonicalText.class, "number", DataTypes.StringType, DataTypes.StringType);
        register(session, "ingest_is_json", JsonText.class, "isValid", DataTypes.BooleanType, DataTypes.StringType);
        register(
                session,
                "ingest_is_json_object",
                JsonText.class,
                "isObject",
                DataTypes.BooleanType,
                DataTypes.StringType);
        DataType text = DataTypes.StringType;
        register(session, "ingest_document_id", DocumentKey.class, "ofDocument", text, text);
        SaltedHash.register(session);
        registerPositions(session);
        registerCanonicalForms(session);
    }

    private static void registerPositions(SparkSession session) {
        DataType text = DataTypes.StringType;
        DataType number = DataTypes.LongType;
        DataType width = DataTypes.IntegerType;
        register(session, "ingest_padded_number", PaddedText.class, "ofNumber", text, number, width);
        register(session, "ingest_padded_text", PaddedText.class, "ofText", text, text, width);
        register(session, "ingest_is_number", PaddedText.class, "isNumber", DataTypes.BooleanType, text, width);
        register(session, "ingest_is_hex", PaddedText.class, "isHex", DataTypes.BooleanType, text, width);
        register(session, "ingest_is_lsn", Lsn.class, "isLsn", DataTypes.BooleanType, text);
        register(session, "ingest_first_number", Sequence.class, "first", number, text);
        register(session, "ingest_last_number", Sequence.class, "last", number, text);
    }

    private static void registerCanonicalForms(SparkSession session) {
        DataType text = DataTypes.StringType;
        register(session, "ingest_md5_number", Checksums.class, "md5Number", DataTypes.LongType, text);
        register(session, "ingest_double_bits", CanonicalText.class, "doubleBits", text, DataTypes.DoubleType);
        register(session, "ingest_float_bits", CanonicalText.class, "floatBits", text, DataTypes.FloatType);
        register(session, "ingest_timestamp", CanonicalText.class, "timestamp", text, DataTypes.TimestampNTZType);
        register(session, "ingest_utc", CanonicalText.class, "timestamp", text, DataTypes.TimestampType);
        register(session, "ingest_document_text", DocumentText.class, "comparable", text, text);
        DataType bounds = DataTypes.createArrayType(DataTypes.LongType);
        register(session, "ingest_range", Ranges.class, "find", DataTypes.IntegerType, DataTypes.LongType, bounds);
        registerRow(session, "ingest_row_text", RowChecksum.Result.TEXT);
        registerRow(session, "ingest_row_md5_number", RowChecksum.Result.MD5);
        registerRow(session, "ingest_row_postgres_hash", RowChecksum.Result.POSTGRES);
    }

    private static void registerRow(SparkSession session, String name, RowChecksum.Result result) {
        register(session, name, children -> RowChecksum.of(result, JavaConverters.seqAsJavaList(children)));
    }

    /** Register a static method that may return null and is not called with null arguments. */
    private static void register(
            SparkSession session, String name, Class<?> home, String method, DataType result, DataType... arguments) {
        Seq<AbstractDataType> types = JavaConverters.<AbstractDataType>asScalaBuffer(List.of(arguments))
                .toList();
        Function1<Seq<Expression>, Expression> builder =
                children -> new StaticInvoke(home, result, method, children, types, true, true, true);
        register(session, name, builder);
    }

    private static void register(SparkSession session, String name, Function1<Seq<Expression>, Expression> builder) {
        session.sessionState().functionRegistry().createOrReplaceTempFunction(name, builder, "scala_udf");
    }
}
