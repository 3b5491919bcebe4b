package io.hudicdc.ingest.checksum;

import java.util.Arrays;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
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

/** The methods of {@link RowText} that append a value, by the type of the value. */
enum Adder {
    TEXT("addText", StringType.class::isInstance, (row, value) -> row.addText((UTF8String) value)),
    FREE_TEXT("addFreeText", type -> false, (row, value) -> row.addFreeText((UTF8String) value)),
    NUMBER("addNumber", IntegralType.class::isInstance, (row, value) -> row.addNumber(((Number) value).longValue())),
    TIMESTAMP(
            "addTimestamp",
            type -> type instanceof TimestampType || type instanceof TimestampNTZType,
            (row, value) -> row.addTimestamp((Long) value)),
    DECIMAL("addDecimal", DecimalType.class::isInstance, (row, value) -> row.addDecimal((Decimal) value)),
    BOOLEAN("addBoolean", BooleanType.class::isInstance, (row, value) -> row.addBoolean((Boolean) value)),
    DATE("addDate", DateType.class::isInstance, (row, value) -> row.addDate((Integer) value)),
    DOUBLE("addDouble", DoubleType.class::isInstance, (row, value) -> row.addDouble((Double) value)),
    FLOAT("addFloat", FloatType.class::isInstance, (row, value) -> row.addFloat((Float) value)),
    BINARY("addBinary", BinaryType.class::isInstance, (row, value) -> row.addBinary((byte[]) value));

    /** The name of the method, for generated code. */
    final String method;

    private final Predicate<DataType> types;
    private final BiConsumer<RowText, Object> function;

    Adder(String method, Predicate<DataType> types, BiConsumer<RowText, Object> function) {
        this.method = method;
        this.types = types;
        this.function = function;
    }

    /** Return the method for a type; a text may be free, with any characters. */
    static Adder of(DataType type, boolean isFree) {
        Adder adder = Arrays.stream(values())
                .filter(any -> any.types.test(type))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no canonical text of type " + type.simpleString()));
        return adder == TEXT && isFree ? FREE_TEXT : adder;
    }

    /** Append a value that is not null. */
    void add(RowText row, Object value) {
        function.accept(row, value);
    }
}
