package io.hudicdc.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.hudicdc.ingest.avro.DecodeAvro;
import io.hudicdc.ingest.checksum.RowChecksum;
import io.hudicdc.ingest.checksum.RowChecksum.Result;
import io.hudicdc.ingest.framing.Unframe;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** The expressions as Spark's optimizer and executors treat them: compared, copied, sent and compiled. */
class ExpressionsTest {
    private static final String READER = "{\"type\": \"record\", \"name\": \"R\", \"fields\": []}";

    @Test
    void expressionsAreEqualWithEqualChildrenAndArguments() {
        assertEquals(decoding("a", 10), decoding("a", 10));
        assertEquals(decoding("a", 10).hashCode(), decoding("a", 10).hashCode());
        assertNotEquals(decoding("a", 10), decoding("b", 10));
        assertNotEquals(decoding("a", 10), decoding("a", 11));
        assertEquals(unframing("key", 1), unframing("key", 1));
        assertNotEquals(unframing("key", 1), unframing("value", 1));
        assertNotEquals(unframing("key", 1), unframing("key", 2));
        assertNotEquals(decoding("a", 10), unframing("key", 1));
    }

    @Test
    void anExpressionOverOtherChildrenKeepsItsArguments() {
        Expression other = new Column("b").expr();
        Expression changed = decoding("a", 10).withNewChildren(sequence(List.of(other)));
        assertEquals(decoding("b", 10), changed);
        assertEquals(changed, changed.clone());
        assertNotSame(changed, changed.clone());
    }

    @Test
    void sparksProductHasChildrenThenArguments() {
        Expression decoding = decoding("a", 10);
        assertEquals(5, decoding.productArity());
        assertEquals(decoding.children().head(), decoding.productElement(0));
        assertEquals(10L, decoding.productElement(4));
    }

    @Test
    void expressionsSurviveTheirWayToAnExecutor() throws IOException, ClassNotFoundException {
        for (Expression expression : List.of(decoding("a", 10), unframing("key", 1), checksum(Result.TEXT))) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(expression);
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
                assertEquals(expression, in.readObject());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Result.class)
    void generatedCodeAndTheInterpreterGiveOneChecksum(Result result) {
        RowChecksum checksum = checksum(result);
        for (InternalRow row : List.of(VALUES, new GenericInternalRow(VALUES.numFields()))) {
            Object expected = checksum.eval(row);
            InternalRow compiled = UnsafeProjection.create(sequence(List.<Expression>of(checksum)))
                    .apply(row);
            assertEquals(expected, compiled.get(0, checksum.dataType()));
        }
    }

    @Test
    void theTextOfARowHasThePartsOfAllTypes() {
        String expected =
                "3:a,b,x,true,7,8,1.50,1970-01-02,1970-01-01 00:00:00.000001,1970-01-01 00:00:00,0,1069547520,x0a,"
                        + "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12";
        assertEquals(expected, checksum(Result.TEXT).eval(VALUES).toString());
    }

    @Test
    void aTypeWithoutACanonicalTextIsRefused() {
        List<Expression> arguments =
                List.of(Literal$.MODULE$.apply("p"), new BoundReference(0, DataTypes.CalendarIntervalType, true));
        RowChecksum checksum = RowChecksum.of(Result.TEXT, arguments);
        InternalRow row = new GenericInternalRow(new Object[] {new CalendarInterval(1, 2, 3)});
        assertThrows(IllegalArgumentException.class, () -> checksum.eval(row));
        assertThrows(IllegalArgumentException.class, () -> RowChecksum.of(Result.TEXT, arguments.subList(0, 1)));
    }

    private static final DataType[] TYPES = {
        DataTypes.StringType,
        DataTypes.StringType,
        DataTypes.BooleanType,
        DataTypes.ByteType,
        DataTypes.LongType,
        DataTypes.createDecimalType(5, 2),
        DataTypes.DateType,
        DataTypes.TimestampType,
        DataTypes.TimestampNTZType,
        DataTypes.DoubleType,
        DataTypes.FloatType,
        DataTypes.BinaryType,
        DataTypes.StringType
    };

    private static final InternalRow VALUES = new GenericInternalRow(new Object[] {
        UTF8String.fromString("a,b"),
        UTF8String.fromString("x"),
        true,
        (byte) 7,
        8L,
        Decimal.apply("1.50"),
        1,
        1L,
        0L,
        -0.0,
        1.5f,
        new byte[] {10},
        UTF8String.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12")
    });

    private static RowChecksum checksum(Result result) {
        List<Expression> arguments = new ArrayList<>();
        arguments.add(Literal$.MODULE$.apply("fphhhphpphpph"));
        for (int i = 0; i < TYPES.length; i++) {
            arguments.add(new BoundReference(i, TYPES[i], true));
        }
        return RowChecksum.of(result, arguments);
    }

    private static Expression decoding(String column, long mostBytes) {
        return DecodeAvro.column(new Column(column), READER, List.of(1), List.of(READER), mostBytes)
                .expr();
    }

    private static Expression unframing(String side, int id) {
        return Unframe.column(
                        new Column("a"), new Column("h"), side, List.of("glue"), List.of("globalId 1"), List.of(id))
                .expr();
    }

    private static <T> Seq<T> sequence(List<T> elements) {
        return JavaConverters.asScalaBuffer(elements).toList();
    }
}
