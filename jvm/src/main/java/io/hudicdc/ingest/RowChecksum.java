package io.hudicdc.ingest;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.EmptyBlock$;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.IndexedSeq;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * The canonical text of a row's values, or a checksum of it, without a text for each value: {@link RowText} says how;
 * or the checksum of {@link RowHash}.
 *
 * <p>In SQL the first argument has a letter for each of the others: {@code f} for free text, {@code h} for a value whose
 * hash is not that of its text, else {@code p}.
 */
public final class RowChecksum extends Expression implements Serializable {
    private static final long serialVersionUID = 1L;

    /** The results: a method of {@link RowText} each. */
    enum Result {
        TEXT("text", DataTypes.StringType),
        MD5("md5Number", DataTypes.LongType),
        POSTGRES("postgresHash", DataTypes.LongType);

        private final String method;
        private final DataType type;

        Result(String method, DataType type) {
            this.method = method;
            this.type = type;
        }
    }

    private final Result result;
    private final String letters;
    private final List<Expression> values;
    private transient RowHash row;

    RowChecksum(Result result, String letters, List<Expression> values) {
        if (letters.length() != values.size()) {
            throw new IllegalArgumentException("a letter for each value: " + letters);
        }
        this.result = result;
        this.letters = letters;
        this.values = values;
    }

    /** Return the buffer, of one task as this expression is; generated code calls this. */
    public RowHash begun() {
        if (row == null) {
            row = new RowHash();
        }
        row.beginRow();
        return row;
    }

    @Override
    public Object eval(InternalRow input) {
        List<Object> evaluated = new ArrayList<>();
        values.forEach(value -> evaluated.add(value.eval(input)));
        RowHash text = begun();
        for (int i = 0; i < evaluated.size(); i++) {
            if (i > 0 && result != Result.POSTGRES) {
                text.next();
            }
            if (evaluated.get(i) != null) {
                put(text, i, evaluated.get(i));
            }
        }
        switch (result) {
            case TEXT:
                return text.text();
            case MD5:
                return text.md5Number();
            default:
                return text.postgresHash();
        }
    }

    private void put(RowHash text, int i, Object value) {
        if (result != Result.POSTGRES) {
            add(text, adder(i), value);
        } else if (letters.charAt(i) == 'h') {
            hash(text, hasher(i), value, text.seed(i));
        } else {
            text.begin();
            add(text, adder(i), value);
            text.hashText(text.seed(i));
        }
    }

    private static void hash(RowHash text, String hasher, Object value, long seed) {
        switch (hasher) {
            case "hashBoolean":
                text.hashBoolean((Boolean) value, seed);
                return;
            case "hashNumber":
                text.hashNumber(((Number) value).longValue(), seed);
                return;
            case "hashDouble":
                text.hashDouble((Double) value, seed);
                return;
            case "hashDate":
                text.hashDate((Integer) value, seed);
                return;
            default:
                text.hashUuid((UTF8String) value, seed);
        }
    }

    private static void add(RowText text, String adder, Object value) {
        switch (adder) {
            case "addBoolean":
                text.addBoolean((Boolean) value);
                return;
            case "addNumber":
                text.addNumber(((Number) value).longValue());
                return;
            case "addFloat":
                text.addFloat((Float) value);
                return;
            case "addDouble":
                text.addDouble((Double) value);
                return;
            case "addDecimal":
                text.addDecimal((Decimal) value);
                return;
            case "addDate":
                text.addDate((Integer) value);
                return;
            case "addTimestamp":
                text.addTimestamp((Long) value);
                return;
            case "addBinary":
                text.addBinary((byte[]) value);
                return;
            case "addFreeText":
                text.addFreeText((UTF8String) value);
                return;
            default:
                text.addText((UTF8String) value);
        }
    }

    @Override
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        String self = context.addReferenceObj("rowChecksum", this, RowChecksum.class.getName());
        String text = context.freshName("text");
        StringBuilder added =
                new StringBuilder(String.format("%s %s = %s.begun();", RowHash.class.getName(), text, self));
        Block block = EmptyBlock$.MODULE$;
        for (int i = 0; i < values.size(); i++) {
            ExprCode value = values.get(i).genCode(context);
            block = block.$plus(value.code());
            added.append(i > 0 && result != Result.POSTGRES ? text + ".next();" : "");
            added.append(String.format("%nif (!%s) { %s }", value.isNull(), call(i, text, value.value())));
        }
        String type = result == Result.TEXT ? "UTF8String" : "long";
        added.append(String.format("%n%s %s = %s.%s();", type, code.value(), text, result.method));
        Block body = new CodeBlock(seq(List.of(added.toString())), seq(List.of()));
        return code.copy(block.$plus(body), FalseLiteral$.MODULE$, code.value());
    }

    /** Return the statements for a value that is not null. */
    private String call(int i, String text, Object value) {
        long seed = new RowHash().seed(i);
        if (result != Result.POSTGRES) {
            return String.format("%s.%s(%s);", text, adder(i), value);
        }
        if (letters.charAt(i) == 'h') {
            return String.format("%s.%s(%s, %dL);", text, hasher(i), value, seed);
        }
        if (values.get(i).dataType() instanceof StringType) {
            return String.format("%s.hashText(%s, %dL);", text, value, seed);
        }
        return String.format("%1$s.begin(); %1$s.%2$s(%3$s); %1$s.hashText(%4$dL);", text, adder(i), value, seed);
    }

    /** Return the method of {@link RowHash} for a value's type. */
    private String hasher(int i) {
        DataType type = values.get(i).dataType();
        if (type instanceof IntegralType) {
            return "hashNumber";
        }
        if (type instanceof BooleanType) {
            return "hashBoolean";
        }
        if (type instanceof DateType) {
            return "hashDate";
        }
        if (type instanceof DoubleType) {
            return "hashDouble";
        }
        if (type instanceof StringType) {
            return "hashUuid";
        }
        throw new IllegalArgumentException("no hash of type " + type.simpleString());
    }

    /** Return the method of {@link RowText} for a value's type. */
    private String adder(int i) {
        DataType type = values.get(i).dataType();
        if (type instanceof StringType) {
            return letters.charAt(i) == 'f' && result != Result.POSTGRES ? "addFreeText" : "addText";
        }
        if (type instanceof IntegralType) {
            return "addNumber";
        }
        if (type instanceof TimestampType || type instanceof TimestampNTZType) {
            return "addTimestamp";
        }
        if (type instanceof DecimalType) {
            return "addDecimal";
        }
        return otherAdder(type);
    }

    private static String otherAdder(DataType type) {
        if (type instanceof BooleanType) {
            return "addBoolean";
        }
        if (type instanceof DateType) {
            return "addDate";
        }
        if (type instanceof DoubleType) {
            return "addDouble";
        }
        if (type instanceof FloatType) {
            return "addFloat";
        }
        if (type instanceof BinaryType) {
            return "addBinary";
        }
        throw new IllegalArgumentException("no canonical text of type " + type.simpleString());
    }

    @Override
    public DataType dataType() {
        return result.type;
    }

    @Override
    public boolean nullable() {
        return false;
    }

    @Override
    public Seq<Expression> children() {
        return seq(values);
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
        return new RowChecksum(result, letters, List.copyOf(JavaConverters.seqAsJavaList(children)));
    }

    @Override
    public String prettyName() {
        return "ingest_row_" + result.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public int productArity() {
        return 3;
    }

    @Override
    public Object productElement(int at) {
        return List.of(result, letters, children()).get(at);
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof RowChecksum;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof RowChecksum)) {
            return false;
        }
        RowChecksum that = (RowChecksum) other;
        return result == that.result && letters.equals(that.letters) && values.equals(that.values);
    }

    @Override
    public int hashCode() {
        return Objects.hash(result.name(), letters, values);
    }

    private static <T> Seq<T> seq(List<T> elements) {
        return JavaConverters.asScalaBuffer(elements).toList();
    }
}
