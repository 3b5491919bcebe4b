package io.hudicdc.ingest.checksum;

import java.util.Arrays;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/** The methods of {@link RowHash} that join the hash of a value, by the type of the value. */
enum Hasher {
    NUMBER("hashNumber", IntegralType.class, (row, value, seed) -> row.hashNumber(((Number) value).longValue(), seed)),
    BOOLEAN("hashBoolean", BooleanType.class, (row, value, seed) -> row.hashBoolean((Boolean) value, seed)),
    DATE("hashDate", DateType.class, (row, value, seed) -> row.hashDate((Integer) value, seed)),
    DOUBLE("hashDouble", DoubleType.class, (row, value, seed) -> row.hashDouble((Double) value, seed)),
    UUID("hashUuid", StringType.class, (row, value, seed) -> row.hashUuid((UTF8String) value, seed));

    @FunctionalInterface
    private interface Joining {
        void join(RowHash row, Object value, long seed);
    }

    /** The name of the method, for generated code. */
    final String method;

    private final Class<? extends DataType> type;
    private final Joining function;

    Hasher(String method, Class<? extends DataType> type, Joining function) {
        this.method = method;
        this.type = type;
        this.function = function;
    }

    /** Return the method for a type. */
    static Hasher of(DataType type) {
        return Arrays.stream(values())
                .filter(hasher -> hasher.type.isInstance(type))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no hash of type " + type.simpleString()));
    }

    /** Join the hash of a value that is not null. */
    void join(RowHash row, Object value, long seed) {
        function.join(row, value, seed);
    }
}
