package io.hudicdc.ingest.json;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.api.java.UDF2;

/**
 * {@code ingest_numeric_decimals(json, scales)}: the payload with decimals as JsonConverter writes them by default.
 *
 * <p>With {@code decimal.format=NUMERIC} it writes numbers in place of base64 (KIP-481). {@code scales} is a tree of
 * the payload's shape: an object for a record's fields, a list of one for an array's elements, a list of null and one
 * for a map's values, and the scale where a decimal is. A number that its scale cannot hold stays as it is, and so does
 * a value of another shape.
 */
public final class NumericDecimals implements UDF2<String, String, String> {
    private static final long serialVersionUID = 1L;
    /** Digits of the largest number to convert: an exponent may ask for as much memory as it likes. */
    private static final int MAX_DIGITS = 1000;

    private transient String text;
    private transient Object scales;

    @Override
    public String call(String json, String scalesJson) {
        if (json == null) {
            return null;
        }
        try {
            if (!scalesJson.equals(text)) {
                scales = Json.parse(scalesJson);
                text = scalesJson;
            }
            return Json.write(convert(Json.parse(json), scales), Json.Style.COMPACT);
        } catch (IOException malformed) {
            return json; // the caller rejects it
        }
    }

    private static Object convert(Object node, Object scales) {
        if (node instanceof Json.Number && scales instanceof Json.Number) {
            return base64((Json.Number) node, Integer.parseInt(((Json.Number) scales).text));
        }
        if (node instanceof Map && scales instanceof Map) {
            Map<String, Object> fields = Json.map(node);
            Json.map(scales)
                    .forEach((name, inner) -> fields.computeIfPresent(name, (key, value) -> convert(value, inner)));
        } else if (node instanceof List && isArray(scales)) {
            Object inner = Json.list(scales).get(0);
            Json.list(node).replaceAll(value -> convert(value, inner));
        } else if (node instanceof Map && isMap(scales)) {
            Object inner = Json.list(scales).get(1);
            Json.map(node).replaceAll((key, value) -> convert(value, inner));
        }
        return node;
    }

    private static boolean isArray(Object scales) {
        return scales instanceof List && Json.list(scales).size() == 1;
    }

    private static boolean isMap(Object scales) {
        return scales instanceof List && Json.list(scales).size() == 2;
    }

    private static Object base64(Json.Number number, int scale) {
        try {
            BigDecimal value = new BigDecimal(number.text);
            long digits = (long) value.precision() - value.scale() + scale;
            if (digits > MAX_DIGITS || value.scale() > MAX_DIGITS) {
                return number;
            }
            byte[] unscaled = value.setScale(scale).unscaledValue().toByteArray();
            return Base64.getEncoder().encodeToString(unscaled);
        } catch (ArithmeticException | NumberFormatException unfit) {
            return number;
        }
    }
}
