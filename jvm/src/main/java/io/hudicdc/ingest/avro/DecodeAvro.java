package io.hudicdc.ingest.avro;

import io.hudicdc.ingest.spark.JavaExpression;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/**
 * Decodes a key or value as struct {@code value}, {@code whole}: the record in the reader's schema, and whether the
 * message is exactly one record of its writer schema.
 *
 * <p>Null for an unknown schema id; {@code value} is null where {@code whole} is false, or null for a record that is too
 * large when decoded. The result equals that of spark-avro's {@code from_avro} with {@code avroSchema}, PERMISSIVE and
 * CORRECTED.
 */
public final class DecodeAvro extends JavaExpression {
    private static final long serialVersionUID = 1L;

    private final String reader;
    private final List<Integer> ids;
    private final List<String> wires;
    private final long mostBytes;
    private transient DataType type;
    private transient AvroDecoder decoder;

    private DecodeAvro(Expression child, String reader, List<Integer> ids, List<String> wires, long mostBytes) {
        super(List.of(child), List.of(reader, ids, wires, mostBytes));
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
        Object message = child(0).eval(row);
        return message == null ? null : decode((byte[]) message);
    }

    @Override
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode message = child(0).genCode(context);
        String self = context.addReferenceObj("decode", this, DecodeAvro.class.getName());
        Block decoded = code(
                "InternalRow %1$s = %2$s ? null : %3$s.decode(%4$s);%n boolean %5$s = %1$s == null;",
                code.value(), message.isNull(), self, message.value(), code.isNull());
        return code.copy(message.code().$plus(decoded), code.isNull(), code.value());
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
    protected JavaExpression over(List<Expression> others) {
        return new DecodeAvro(others.get(0), reader, ids, wires, mostBytes);
    }

    @Override
    public String prettyName() {
        return "ingest_decode_avro";
    }
}
