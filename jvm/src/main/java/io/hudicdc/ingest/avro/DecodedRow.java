package io.hudicdc.ingest.avro;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;

/** A row of null fields to fill, whose numbers are not boxed. */
final class DecodedRow extends InternalRow {
    private static final long serialVersionUID = 1L;

    private final boolean[] present;
    private final long[] numbers;
    private final Object[] objects;

    DecodedRow(int width) {
        this(new boolean[width], new long[width], new Object[width]);
    }

    private DecodedRow(boolean[] present, long[] numbers, Object[] objects) {
        this.present = present;
        this.numbers = numbers;
        this.objects = objects;
    }

    @Override
    public int numFields() {
        return present.length;
    }

    @Override
    public void setNullAt(int at) {
        present[at] = false;
        objects[at] = null;
    }

    @Override
    public void setBoolean(int at, boolean value) {
        setLong(at, value ? 1 : 0);
    }

    @Override
    public void setInt(int at, int value) {
        setLong(at, value);
    }

    @Override
    public void setLong(int at, long value) {
        present[at] = true;
        numbers[at] = value;
    }

    @Override
    public void setFloat(int at, float value) {
        setLong(at, Float.floatToRawIntBits(value));
    }

    @Override
    public void setDouble(int at, double value) {
        setLong(at, Double.doubleToRawLongBits(value));
    }

    @Override
    public void update(int at, Object value) {
        if (value == null) {
            setNullAt(at);
        } else if (value instanceof Boolean) {
            setBoolean(at, (Boolean) value);
        } else if (value instanceof Float) {
            setFloat(at, (Float) value);
        } else if (value instanceof Double) {
            setDouble(at, (Double) value);
        } else if (value instanceof Number && !(value instanceof Decimal)) {
            setLong(at, ((Number) value).longValue());
        } else {
            set(at, value);
        }
    }

    /** Set a field that is not a primitive number, or null. */
    void set(int at, Object value) {
        present[at] = value != null;
        objects[at] = value;
    }

    /** Copy the row, but not its values: decoded values never change. */
    @Override
    public InternalRow copy() {
        return new DecodedRow(present.clone(), numbers.clone(), objects.clone());
    }

    @Override
    public boolean isNullAt(int at) {
        return !present[at];
    }

    @Override
    public boolean getBoolean(int at) {
        return numbers[at] != 0;
    }

    @Override
    public byte getByte(int at) {
        return (byte) numbers[at];
    }

    @Override
    public short getShort(int at) {
        return (short) numbers[at];
    }

    @Override
    public int getInt(int at) {
        return (int) numbers[at];
    }

    @Override
    public long getLong(int at) {
        return numbers[at];
    }

    @Override
    public float getFloat(int at) {
        return Float.intBitsToFloat((int) numbers[at]);
    }

    @Override
    public double getDouble(int at) {
        return Double.longBitsToDouble(numbers[at]);
    }

    @Override
    public Decimal getDecimal(int at, int precision, int scale) {
        return (Decimal) objects[at];
    }

    @Override
    public UTF8String getUTF8String(int at) {
        return (UTF8String) objects[at];
    }

    @Override
    public byte[] getBinary(int at) {
        return (byte[]) objects[at];
    }

    @Override
    public CalendarInterval getInterval(int at) {
        return (CalendarInterval) objects[at];
    }

    @Override
    public InternalRow getStruct(int at, int width) {
        return (InternalRow) objects[at];
    }

    @Override
    public ArrayData getArray(int at) {
        return (ArrayData) objects[at];
    }

    @Override
    public MapData getMap(int at) {
        return (MapData) objects[at];
    }

    @Override
    public Object get(int at, DataType type) {
        if (isNullAt(at)) {
            return null;
        }
        if (objects[at] != null) {
            return objects[at];
        }
        if (type instanceof BooleanType) {
            return getBoolean(at);
        }
        if (type instanceof IntegerType || type instanceof DateType) {
            return getInt(at);
        }
        if (type instanceof FloatType) {
            return getFloat(at);
        }
        return type instanceof DoubleType ? (Object) getDouble(at) : (Object) getLong(at);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof DecodedRow
                && Arrays.equals(present, ((DecodedRow) other).present)
                && Arrays.equals(numbers, ((DecodedRow) other).numbers)
                && Arrays.deepEquals(objects, ((DecodedRow) other).objects);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(numbers) + Arrays.deepHashCode(objects);
    }
}
