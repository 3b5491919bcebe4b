package io.hudicdc.ingest.avro;

import java.util.Arrays;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Compiles Avro schemas to readers, and to the Spark type of their values.
 *
 * <p>Avro's {@code Resolver} decides how a writer's schema is read as the reader's.
 */
final class AvroCompiler {
    private AvroCompiler() {}

    static Schema parse(String json) {
        return new Schema.Parser().setValidateDefaults(false).parse(json);
    }

    /** Return the Spark type of a reader's schema, as spark-avro's SchemaConverters does; everything is nullable. */
    static DataType sparkType(Schema reader) {
        LogicalType logical = reader.getLogicalType();
        switch (reader.getType()) {
            case BOOLEAN:
                return DataTypes.BooleanType;
            case INT:
                return logical instanceof LogicalTypes.Date ? DataTypes.DateType : DataTypes.IntegerType;
            case LONG:
                return isMillis(reader) || logical instanceof LogicalTypes.LocalTimestampMicros
                        ? DataTypes.TimestampNTZType
                        : DataTypes.LongType;
            case FLOAT:
                return DataTypes.FloatType;
            case DOUBLE:
                return DataTypes.DoubleType;
            case STRING:
            case ENUM:
                return DataTypes.StringType;
            case BYTES:
            case FIXED:
                return binaryType(reader);
            case ARRAY:
                return DataTypes.createArrayType(sparkType(reader.getElementType()), true);
            case MAP:
                return DataTypes.createMapType(DataTypes.StringType, sparkType(reader.getValueType()), true);
            case RECORD:
                return new StructType(reader.getFields().stream()
                        .map(f -> DataTypes.createStructField(f.name(), sparkType(f.schema()), true))
                        .toArray(StructField[]::new));
            default:
                return sparkType(nullableOf(reader));
        }
    }

    /** Return the reader of a writer's records; a value that cannot be converted is malformed when it is read. */
    static AvroReader reader(Schema writer, Schema reader) {
        return reader(Resolver.resolve(writer, reader));
    }

    private static AvroReader reader(Resolver.Action action) {
        switch (action.type) {
            case DO_NOTHING:
            case PROMOTE:
                return scalar(action.writer.getType(), action.reader);
            case ENUM:
                return enums((Resolver.EnumAdjust) action);
            case CONTAINER:
                return container((Resolver.Container) action);
            case RECORD:
                return record((Resolver.RecordAdjust) action);
            case SKIP:
                return AvroSkips.of(action.writer);
            case WRITER_UNION:
                Resolver.Action[] branches = ((Resolver.WriterUnion) action).actions;
                return new AvroStructures.Union(
                        Arrays.stream(branches).map(AvroCompiler::reader).toArray(AvroReader[]::new));
            case READER_UNION:
                return reader(((Resolver.ReaderUnion) action).actualAction);
            default:
                return new AvroScalars.Unreadable();
        }
    }

    private static AvroReader scalar(Schema.Type writer, Schema reader) {
        switch (reader.getType()) {
            case NULL:
                return AvroSkips.of(reader);
            case BOOLEAN:
                return new AvroScalars.Booleans();
            case INT:
                return new AvroScalars.Ints();
            case LONG:
                return new AvroScalars.Longs(writer, isMillis(reader));
            case FLOAT:
                return new AvroScalars.Floats(writer);
            case DOUBLE:
                return new AvroScalars.Doubles(writer);
            case STRING:
                return new AvroScalars.Strings();
            case BYTES:
                LogicalType decimal = reader.getLogicalType();
                return decimal instanceof LogicalTypes.Decimal
                        ? decimals((LogicalTypes.Decimal) decimal)
                        : new AvroScalars.Binaries();
            case FIXED:
                return new AvroScalars.Fixed(reader.getFixedSize());
            default:
                throw new IllegalArgumentException("no scalar: " + reader);
        }
    }

    private static AvroReader decimals(LogicalTypes.Decimal type) {
        return new AvroScalars.Decimals(type.getPrecision(), type.getScale());
    }

    private static AvroReader enums(Resolver.EnumAdjust action) {
        UTF8String[] symbols = new UTF8String[action.adjustments.length];
        for (int i = 0; i < symbols.length; i++) {
            int index = action.adjustments[i];
            symbols[i] = index < 0
                    ? null
                    : UTF8String.fromString(action.reader.getEnumSymbols().get(index));
        }
        return new AvroScalars.Enums(symbols);
    }

    private static AvroReader container(Resolver.Container action) {
        AvroReader element = reader(action.elementAction);
        return action.writer.getType() == Schema.Type.MAP
                ? new AvroStructures.Entries(element)
                : new AvroStructures.Array(element, AvroSkips.isEmpty(action.writer.getElementType()));
    }

    /** Return the reader of a record; fields that the writer lacks stay null, the only default of our reader schemas. */
    private static AvroReader record(Resolver.RecordAdjust action) {
        AvroReader[] fields =
                Arrays.stream(action.fieldActions).map(AvroCompiler::reader).toArray(AvroReader[]::new);
        int[] columns = new int[fields.length];
        for (int i = 0, read = 0; i < fields.length; i++) {
            if (action.fieldActions[i].type != Resolver.Action.Type.SKIP) {
                columns[i] = action.readerOrder[read++].pos();
            }
        }
        return new AvroStructures.Record(
                fields, columns, action.reader.getFields().size());
    }

    private static DataType binaryType(Schema reader) {
        LogicalType logical = reader.getLogicalType();
        if (!(logical instanceof LogicalTypes.Decimal)) {
            return DataTypes.BinaryType;
        }
        if (reader.getType() == Schema.Type.FIXED) {
            throw new IllegalArgumentException("not read as a decimal: " + reader);
        }
        LogicalTypes.Decimal decimal = (LogicalTypes.Decimal) logical;
        return DataTypes.createDecimalType(decimal.getPrecision(), decimal.getScale());
    }

    private static boolean isMillis(Schema reader) {
        return reader.getLogicalType() instanceof LogicalTypes.LocalTimestampMillis;
    }

    private static Schema nullableOf(Schema reader) {
        boolean nullable = reader.isUnion() && reader.getTypes().size() == 2 && reader.isNullable();
        if (!nullable) {
            throw new IllegalArgumentException("not read: " + reader);
        }
        return reader.getTypes().get(reader.getTypes().get(0).getType() == Schema.Type.NULL ? 1 : 0);
    }
}
