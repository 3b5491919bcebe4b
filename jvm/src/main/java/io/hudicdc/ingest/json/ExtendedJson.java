package io.hudicdc.ingest.json;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;

/**
 * MongoDB's Extended JSON: a value has up to three spellings, v1 strict, v2 relaxed and v2 canonical.
 *
 * <p>https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/ (v2) and -v1/. Debezium chooses the spelling in
 * io.debezium.connector.mongodb.JsonSerialization.
 */
final class ExtendedJson {
    enum Kind {
        OID,
        DATE,
        INTEGER,
        LONG,
        DOUBLE,
        DECIMAL,
        BINARY,
        REGEX,
        SECONDS,
        TEXT,
        UNDEFINED,
        OTHER
    }

    /** A wrapped value: {@code text} is its hex, epoch milliseconds, digits, base64 or pattern. */
    static final class Scalar {
        final Kind kind;
        final String text;
        /** The subtype of a binary as two hex digits, or the options of a pattern; else empty. */
        final String detail;

        Scalar(Kind kind, String text, String detail) {
            this.kind = kind;
            this.text = text;
            this.detail = detail;
        }
    }

    private static final DateTimeFormatter MILLIS = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'");
    private static final long YEAR_10000_MS = 253402300800000L;
    private static final int MAX_PLAIN_DIGITS = 10_000; // a decimal128 has at most 6145 in plain notation

    private ExtendedJson() {}

    /** Recognise a wrapper in any spelling; null for a document of the user. */
    static Scalar scalar(Map<String, Object> node) {
        try {
            if (node.size() == 1) {
                Map.Entry<String, Object> only = node.entrySet().iterator().next();
                return only.getKey().startsWith("$") ? single(only.getKey(), only.getValue()) : null;
            }
            return node.size() == 2 ? pair(node) : null;
        } catch (IllegalArgumentException | DateTimeException | ArithmeticException notAWrapper) {
            return null; // named like a wrapper, but with another value: a document of the user
        }
    }

    /** Spell a tree of any spelling as `after` does: v1 strict. */
    static Object strict(Object node) {
        if (node instanceof Json.Number) {
            return strictNumber((Json.Number) node);
        }
        return respell(node, true);
    }

    /** Spell a tree of any spelling so that equal values have equal texts: v2 relaxed, numbers by value. */
    static Object canonical(Object node) {
        if (node instanceof Json.Number) {
            Json.Number number = (Json.Number) node;
            return number(number.text, number.isInteger() ? Kind.LONG : Kind.DOUBLE);
        }
        return respell(node, false);
    }

    /** Unwrap a value to text ready for a cast; null for null and undefined. */
    static String text(Object node) {
        if (node == null || node instanceof String) {
            return (String) node;
        }
        if (node instanceof Json.Number) {
            return plain(((Json.Number) node).text);
        }
        Scalar scalar = node instanceof Map ? scalar(Json.map(node)) : null;
        return scalar == null ? Json.write(node, Json.Style.COMPACT) : text(scalar, node);
    }

    private static String text(Scalar scalar, Object node) {
        switch (scalar.kind) {
            case DATE:
                return MILLIS.format(instant(scalar));
            case INTEGER:
            case LONG:
            case DOUBLE:
            case DECIMAL:
                return plain(scalar.text);
            case UNDEFINED:
                return null;
            case OTHER:
                return Json.write(node, Json.Style.COMPACT);
            default:
                return scalar.text;
        }
    }

    private static Object respell(Object node, boolean strict) {
        if (node instanceof List) {
            List<Object> elements = new ArrayList<>();
            Json.list(node).forEach(item -> elements.add(strict ? strict(item) : canonical(item)));
            return elements;
        }
        if (!(node instanceof Map)) {
            return node;
        }
        Scalar scalar = scalar(Json.map(node));
        if (scalar != null) {
            return strict ? strictScalar(scalar, node) : canonicalScalar(scalar, node);
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        Json.map(node).forEach((name, value) -> fields.put(name, strict ? strict(value) : canonical(value)));
        return fields;
    }

    private static Object strictScalar(Scalar scalar, Object node) {
        switch (scalar.kind) {
            case DATE:
                return object("$date", new Json.Number(scalar.text));
            case INTEGER:
            case DOUBLE:
                return new Json.Number(scalar.text);
            case BINARY:
                return object("$binary", scalar.text, "$type", scalar.detail);
            case REGEX:
                return object("$regex", scalar.text, "$options", scalar.detail);
            default:
                return node;
        }
    }

    /** Relaxed text prints int and long alike: a number that does not fit an int is a long. */
    private static Object strictNumber(Json.Number number) {
        if (!number.isInteger() || new BigInteger(number.text).bitLength() < Integer.SIZE) {
            return number;
        }
        return object("$numberLong", number.text);
    }

    private static Object canonicalScalar(Scalar scalar, Object node) {
        switch (scalar.kind) {
            case OID:
                return object("$oid", scalar.text.toLowerCase(Locale.ROOT));
            case DATE:
                return canonicalDate(scalar);
            case INTEGER:
            case LONG:
            case DOUBLE:
            case DECIMAL:
                return number(scalar.text, scalar.kind);
            case BINARY:
                return object("$binary", object("base64", scalar.text, "subType", scalar.detail));
            case REGEX:
                return object("$regularExpression", object("pattern", scalar.text, "options", scalar.detail));
            default:
                return node;
        }
    }

    /** The driver's relaxed mode writes the years 1970 to 9999 as text, fractions without trailing zeros. */
    private static Object canonicalDate(Scalar scalar) {
        long millis = Long.parseLong(scalar.text);
        return millis >= 0 && millis < YEAR_10000_MS
                ? object("$date", DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(instant(scalar)))
                : object("$date", object("$numberLong", scalar.text));
    }

    /**
     * Spell a number by its exact value: for MongoDB 5, 5.0 and the decimal 5.00 are the same {@code _id}.
     *
     * <p>But the decimal 0.1 differs from the double 0.1: only values that a double represents exactly are doubles.
     */
    private static Object number(String text, Kind kind) {
        Double special = special(text);
        if (special != null) {
            return object("$numberDouble", special.toString());
        }
        BigDecimal exact = kind == Kind.DOUBLE ? exactDouble(text) : new BigDecimal(text);
        if (exact.signum() == 0) {
            return new Json.Number("0"); // whatever its exponent: to write that out would fill the memory
        }
        double nearest = exact.doubleValue();
        boolean whole = exact.stripTrailingZeros().scale() <= 0;
        if (whole && Math.abs(nearest) < 1e19 && exact.toBigInteger().bitLength() < Long.SIZE) {
            return new Json.Number(exact.toBigInteger().toString());
        }
        if (!Double.isInfinite(nearest) && new BigDecimal(nearest).compareTo(exact) == 0) {
            return new Json.Number(Double.toString(nearest));
        }
        return object("$numberDecimal", exact.stripTrailingZeros().toString());
    }

    private static BigDecimal exactDouble(String text) {
        double value = Double.parseDouble(text);
        return Double.isInfinite(value) ? new BigDecimal(text) : new BigDecimal(value);
    }

    private static Double special(String text) {
        switch (text) {
            case "NaN":
                return Double.NaN;
            case "Infinity":
                return Double.POSITIVE_INFINITY;
            case "-Infinity":
                return Double.NEGATIVE_INFINITY;
            default:
                return null;
        }
    }

    /** Write digits in place of an exponent, which Spark's casts to whole numbers do not accept. */
    private static String plain(String text) {
        if (special(text) != null || (text.indexOf('e') < 0 && text.indexOf('E') < 0)) {
            return text;
        }
        BigDecimal value = new BigDecimal(text);
        return Math.abs((long) value.scale()) > MAX_PLAIN_DIGITS ? text : value.toPlainString();
    }

    private static Scalar single(String name, Object value) {
        switch (name) {
            case "$oid":
                return simple(Kind.OID, string(value));
            case "$date":
                return simple(Kind.DATE, Long.toString(epochMillis(value)));
            case "$numberInt":
                return simple(Kind.INTEGER, new BigInteger(digits(value)).toString());
            case "$numberLong":
                return simple(Kind.LONG, new BigInteger(digits(value)).toString());
            case "$numberDouble":
                return simple(Kind.DOUBLE, checked(digits(value)));
            case "$numberDecimal":
                return simple(Kind.DECIMAL, checked(digits(value)));
            case "$binary":
                return new Scalar(Kind.BINARY, string(field(value, "base64")), subtype(field(value, "subType")));
            case "$uuid":
                return new Scalar(Kind.BINARY, base64(UUID.fromString(string(value))), "04");
            case "$regularExpression":
                return new Scalar(Kind.REGEX, string(field(value, "pattern")), string(field(value, "options")));
            case "$timestamp":
                return simple(Kind.SECONDS, digits(field(value, "t")));
            case "$symbol":
            case "$code":
                return simple(Kind.TEXT, string(value));
            case "$undefined":
                return simple(Kind.UNDEFINED, "");
            case "$minKey":
            case "$maxKey":
            case "$dbPointer":
                return simple(Kind.OTHER, "");
            default:
                return null;
        }
    }

    private static Scalar pair(Map<String, Object> node) {
        if (node.containsKey("$binary") && node.containsKey("$type")) {
            return new Scalar(Kind.BINARY, string(node.get("$binary")), subtype(node.get("$type")));
        }
        if (node.containsKey("$regex") && node.containsKey("$options")) {
            return new Scalar(Kind.REGEX, string(node.get("$regex")), string(node.get("$options")));
        }
        return null;
    }

    private static Scalar simple(Kind kind, String text) {
        return new Scalar(kind, text, "");
    }

    private static long epochMillis(Object value) {
        if (value instanceof String) {
            return OffsetDateTime.parse((String) value).toInstant().toEpochMilli();
        }
        return Long.parseLong(digits(value instanceof Map ? field(value, "$numberLong") : value));
    }

    private static OffsetDateTime instant(Scalar date) {
        return Instant.ofEpochMilli(Long.parseLong(date.text)).atOffset(ZoneOffset.UTC);
    }

    private static String subtype(Object value) {
        return String.format("%02X", Integer.parseInt(digits(value), 16));
    }

    private static String base64(UUID uuid) {
        ByteBuffer bytes = ByteBuffer.allocate(16);
        bytes.putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits());
        return Base64.getEncoder().encodeToString(bytes.array());
    }

    private static String checked(String digits) {
        if (special(digits) == null) {
            new BigDecimal(digits);
        }
        return digits;
    }

    private static Object field(Object node, String name) {
        return node instanceof Map ? Json.map(node).get(name) : null;
    }

    private static String string(Object value) {
        if (!(value instanceof String)) {
            throw new IllegalArgumentException("not a string");
        }
        return (String) value;
    }

    /** Return a number's text; Java takes time with the square of its length to read it. */
    private static String digits(Object value) {
        String text = value instanceof Json.Number ? ((Json.Number) value).text : string(value);
        if (text.length() > MAX_PLAIN_DIGITS) {
            throw new NumberFormatException("a number of " + text.length() + " characters");
        }
        return text;
    }

    private static Map<String, Object> object(String name, Object value) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put(name, value);
        return fields;
    }

    private static Map<String, Object> object(String name, Object value, String second, Object other) {
        Map<String, Object> fields = object(name, value);
        fields.put(second, other);
        return fields;
    }
}
