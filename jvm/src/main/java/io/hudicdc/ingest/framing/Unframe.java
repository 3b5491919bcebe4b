package io.hudicdc.ingest.framing;

import io.hudicdc.ingest.spark.JavaExpression;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Replaces the framing of a key or value by Confluent's, a byte 0 and four bytes of schema id, so that one decoder reads
 * them all.
 *
 * <p>Null for null. A message without a usable frame becomes {@link UnusableFrame#marked} bytes, which no schema reads.
 */
public final class Unframe extends JavaExpression {
    private static final long serialVersionUID = 1L;

    private final List<String> texts;
    private final List<Integer> ids;
    private final int expected;
    private transient Framings framings;

    /** {@code texts} are the side, {@code expected} framings, and the schemas whose {@code ids} follow in order. */
    private Unframe(Expression message, Expression headers, List<String> texts, int expected, List<Integer> ids) {
        super(List.of(message, headers), List.of(texts, expected, ids));
        this.texts = texts;
        this.expected = expected;
        this.ids = ids;
    }

    /**
     * Reframe a binary column, by the message's headers too.
     *
     * @param side {@code key} or {@code value}
     * @param expected the names of the framings that the table expects
     * @param schemas kind and id of each known schema, as {@link Frame} has them
     */
    public static Column column(
            Column messages,
            Column headers,
            String side,
            List<String> expected,
            List<String> schemas,
            List<? extends Number> ids) {
        List<String> texts = new ArrayList<>(List.of(side));
        texts.addAll(expected);
        texts.addAll(schemas);
        List<Integer> numbers = ids.stream().map(Number::intValue).collect(Collectors.toUnmodifiableList());
        return new Column(new Unframe(messages.expr(), headers.expr(), List.copyOf(texts), expected.size(), numbers));
    }

    /** Reframe one message; generated code calls this. */
    public byte[] unframed(byte[] octets, ArrayData named) {
        if (framings == null) {
            List<String> names = texts.subList(1, 1 + expected);
            framings = new Framings(texts.get(0), names, texts.subList(1 + expected, texts.size()), ids);
        }
        return framings.unframed(octets, named);
    }

    @Override
    public Object eval(InternalRow row) {
        Object octets = child(0).eval(row);
        return octets == null ? null : unframed((byte[]) octets, (ArrayData) child(1).eval(row));
    }

    @Override
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode octets = child(0).genCode(context);
        ExprCode named = child(1).genCode(context);
        String self = context.addReferenceObj("unframe", this, Unframe.class.getName());
        Block unframed = code(
                "byte[] %1$s = %2$s ? null : %3$s.unframed(%4$s, %5$s ? null : %6$s);%n boolean %7$s = %1$s == null;",
                code.value(), octets.isNull(), self, octets.value(), named.isNull(), named.value(), code.isNull());
        return code.copy(octets.code().$plus(named.code()).$plus(unframed), code.isNull(), code.value());
    }

    @Override
    public DataType dataType() {
        return DataTypes.BinaryType;
    }

    @Override
    public boolean nullable() {
        return true;
    }

    @Override
    protected JavaExpression over(List<Expression> others) {
        return new Unframe(others.get(0), others.get(1), texts, expected, ids);
    }

    @Override
    public String prettyName() {
        return "ingest_unframe";
    }
}
