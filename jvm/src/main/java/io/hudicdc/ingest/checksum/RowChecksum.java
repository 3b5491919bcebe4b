package io.hudicdc.ingest.checksum;

import io.hudicdc.ingest.spark.JavaExpression;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.EmptyBlock$;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;

/**
 * The canonical text of a row's values, or a checksum of it, without a text for each value: {@link RowText} says how;
 * or the checksum of {@link RowHash}.
 *
 * <p>In SQL the first argument has a letter for each of the others: {@code f} for free text, {@code h} for a value whose
 * hash is not that of its text, else {@code p}.
 */
public final class RowChecksum extends JavaExpression {
    private static final long serialVersionUID = 1L;

    /** The results: a method of {@link RowHash} each. */
    public enum Result {
        TEXT("text", "UTF8String", DataTypes.StringType, RowHash::text),
        MD5("md5Number", "long", DataTypes.LongType, RowHash::md5Number),
        POSTGRES("postgresHash", "long", DataTypes.LongType, RowHash::postgresHash);

        private final String method;
        private final String javaType;
        private final DataType type;
        private final Function<RowHash, Object> function;

        Result(String method, String javaType, DataType type, Function<RowHash, Object> function) {
            this.method = method;
            this.javaType = javaType;
            this.type = type;
            this.function = function;
        }
    }

    private final Result result;
    private final String letters;
    private final List<Expression> values;
    private transient RowHash row;

    private RowChecksum(Result result, String letters, List<Expression> values) {
        super(values, List.of(result.name(), letters));
        if (letters.length() != values.size()) {
            throw new IllegalArgumentException("a letter for each value: " + letters);
        }
        this.result = result;
        this.letters = letters;
        this.values = values;
    }

    /** Return the expression of a call in SQL: the letters, then the values. */
    public static RowChecksum of(Result result, List<Expression> arguments) {
        String letters = ((Literal) arguments.get(0)).value().toString();
        return new RowChecksum(result, letters, List.copyOf(arguments.subList(1, arguments.size())));
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
        return result.function.apply(text);
    }

    private void put(RowHash text, int i, Object value) {
        if (result != Result.POSTGRES) {
            adder(i).add(text, value);
        } else if (letters.charAt(i) == 'h') {
            hasher(i).join(text, value, text.seed(i));
        } else {
            text.begin();
            adder(i).add(text, value);
            text.hashText(text.seed(i));
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
        Block body = code("%s%n%s %s = %s.%s();", added, result.javaType, code.value(), text, result.method);
        return code.copy(block.$plus(body), FalseLiteral$.MODULE$, code.value());
    }

    /** Return the statements for a value that is not null. */
    private String call(int i, String text, Object value) {
        long seed = new RowHash().seed(i);
        if (result != Result.POSTGRES) {
            return String.format("%s.%s(%s);", text, adder(i).method, value);
        }
        if (letters.charAt(i) == 'h') {
            return String.format("%s.%s(%s, %dL);", text, hasher(i).method, value, seed);
        }
        if (values.get(i).dataType() instanceof StringType) {
            return String.format("%s.hashText(%s, %dL);", text, value, seed);
        }
        return String.format(
                "%1$s.begin(); %1$s.%2$s(%3$s); %1$s.hashText(%4$dL);", text, adder(i).method, value, seed);
    }

    private Hasher hasher(int i) {
        return Hasher.of(values.get(i).dataType());
    }

    private Adder adder(int i) {
        return Adder.of(values.get(i).dataType(), letters.charAt(i) == 'f' && result != Result.POSTGRES);
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
    protected JavaExpression over(List<Expression> others) {
        return new RowChecksum(result, letters, others);
    }

    @Override
    public String prettyName() {
        return "ingest_row_" + result.name().toLowerCase(Locale.ROOT);
    }
}
