package io.hudicdc.ingest;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import scala.collection.IndexedSeq;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * Decodes a key or value as struct {@code value}, {@code whole}: the record in the reader's schema, and whether the
 * message is exactly one record of its writer schema.
 *
 * <p>Null for an unknown schema id; {@code value} is null where {@code whole} is false, or null for a record that is too
 * large when decoded. The result equals that of spark-avro's {@code from_avro} with {@code avroSchema}, PERMISSIVE and
 * CORRECTED. Java cannot extend Spark's UnaryExpression: the return type of a final method of it is too wide for Java.
 */
public final class DecodeAvro extends Expression implements Serializable {
    private static final long serialVersionUID = 1L;

    private final Expression child;
    private final String reader;
    private final List<Integer> ids;
    private final List<String> wires;
    private final long mostBytes;
    private transient DataType type;
    private transient AvroDecoder decoder;

    private DecodeAvro(Expression child, String reader, List<Integer> ids, List<String> wires, long mostBytes) {
        this.child = child;
        this.reader = reader;
        this.ids = ids;
        this.wires = wires;
        this.mostBytes = mostBytes;
    }

    /**
     * Decode a binary column. {@code reader} and {@code wires} are Avro JSON; each wire schema has one id.
     *
     * @param mostBytes the memory that the values of one record may take
     */
    public static Column column(
            Column messages, String reader, List<? extends Number> ids, List<String> wires, long mostBytes) {
        List<Integer> headers = ids.stream().map(Number::intValue).collect(Collectors.toUnmodifiableList());
        return new Column(new DecodeAvro(messages.expr(), reader, headers, List.copyOf(wires), mostBytes));
    }

    /** Decode one message; generated code calls this. */
    public InternalRow decode(byte[] message) {
        if (decoder == null) {
            decoder = new AvroDecoder(reader, ids, wires, mostBytes);
        }
        return decoder.decode(message);
    }

    @Override
    public Object eval(InternalRow row) {
        Object message = child.eval(row);
        return message == null ? null : decode((byte[]) message);
    }

    @Override
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode message = child.genCode(context);
        String self = context.addReferenceObj("decode", this, DecodeAvro.class.getName());
        String text = String.format(
                "InternalRow %1$s = %2$s ? null : %3$s.decode(%4$s);%n boolean %5$s = %1$s == null;",
                code.value(), message.isNull(), self, message.value(), code.isNull());
        Block block = new CodeBlock(seq(List.of(text)), seq(List.of()));
        return code.copy(message.code().$plus(block), code.isNull(), code.value());
    }

    @Override
    public DataType dataType() {
        if (type == null) {
            StructField value =
                    DataTypes.createStructField("value", AvroCompiler.sparkType(AvroCompiler.parse(reader)), true);
            StructField whole = DataTypes.createStructField("whole", DataTypes.BooleanType, true);
            type = DataTypes.createStructType(List.of(value, whole));
        }
        return type;
    }

    @Override
    public boolean nullable() {
        return true;
    }

    @Override
    public Seq<Expression> children() {
        return seq(List.of(child));
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
        return new DecodeAvro(children.head(), reader, ids, wires, mostBytes);
    }

    @Override
    public String prettyName() {
        return "ingest_decode_avro";
    }

    @Override
    public int productArity() {
        return 5;
    }

    @Override
    public Object productElement(int at) {
        return List.of(child, reader, ids, wires, mostBytes).get(at);
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof DecodeAvro;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof DecodeAvro)) {
            return false;
        }
        DecodeAvro that = (DecodeAvro) other;
        return child.equals(that.child)
                && reader.equals(that.reader)
                && ids.equals(that.ids)
                && wires.equals(that.wires)
                && mostBytes == that.mostBytes;
    }

    @Override
    public int hashCode() {
        return Objects.hash(child, reader, ids, wires, mostBytes);
    }

    private static <T> Seq<T> seq(List<T> elements) {
        return JavaConverters.asScalaBuffer(elements).toList();
    }
}
