package ingest;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.IndexedSeq;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** {@code ingest_instant(text)}: the timestamp of a text, see {@link Instants}; null where it is none. */
public final class ParseInstant extends Expression implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final String NAME = "ingest_instant";

    private final Expression child;

    private ParseInstant(Expression child) {
        this.child = child;
    }

    /** Make the function known to one session. */
    public static void register(SparkSession session) {
        session.sessionState()
                .functionRegistry()
                .createOrReplaceTempFunction(NAME, texts -> new ParseInstant(texts.head()), "scala_udf");
    }

    @Override
    public Object eval(InternalRow row) {
        Object text = child.eval(row);
        long micros = text == null ? Instants.NONE : Instants.micros((UTF8String) text);
        return micros == Instants.NONE ? null : (Object) micros;
    }

    @Override
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode text = child.genCode(context);
        String java =
                String.format(
                        "long %1$s = %2$s ? %3$s.NONE : %3$s.micros(%4$s);%n boolean %5$s = %1$s == %3$s.NONE;",
                        code.value(), text.isNull(), Instants.class.getName(), text.value(), code.isNull());
        Block block = new CodeBlock(seq(java), seq());
        return code.copy(text.code().$plus(block), code.isNull(), code.value());
    }

    @Override
    public DataType dataType() {
        return DataTypes.TimestampType;
    }

    @Override
    public boolean nullable() {
        return true;
    }

    @Override
    public Seq<Expression> children() {
        return seq(child);
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> others) {
        return new ParseInstant(others.head());
    }

    @Override
    public String prettyName() {
        return NAME;
    }

    @Override
    public int productArity() {
        return 1;
    }

    @Override
    public Object productElement(int at) {
        return child;
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof ParseInstant;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ParseInstant && child.equals(((ParseInstant) other).child);
    }

    @Override
    public int hashCode() {
        return 31 * NAME.hashCode() + child.hashCode();
    }

    @SafeVarargs
    private static <T> Seq<T> seq(T... elements) {
        return JavaConverters.asScalaBuffer(List.of(elements)).toList();
    }
}
