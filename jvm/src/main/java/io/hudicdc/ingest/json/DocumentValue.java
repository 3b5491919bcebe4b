package io.hudicdc.ingest.json;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.api.java.UDF2;

/**
 * {@code ingest_document_value(document, path)}: the value at {@code $.a.b[0]} or {@code $['a b']} without its Extended
 * JSON wrapper, as text ready for a cast; an object or an array as compact JSON, as it is stored.
 *
 * <p>Null for null, for a missing value, and for a document that is not JSON. An invalid path fails the query.
 */
public final class DocumentValue implements UDF2<String, String, String> {
    private static final long serialVersionUID = 1L;
    private static final Pattern STEP =
            Pattern.compile("\\.([^.\\[\\]]+)|\\[(\\d{1,9})\\]|\\['((?:[^'\\\\]|\\\\.)*)'\\]");

    @Override
    public String call(String document, String path) {
        if (document == null || path == null) {
            return null;
        }
        List<Object> steps = steps(path);
        try {
            Object node = Json.parse(document);
            for (Object step : steps) {
                node = child(node, step);
            }
            return ExtendedJson.text(node);
        } catch (IOException | NumberFormatException malformed) {
            return null; // the check of the column rejects the record
        }
    }

    private static Object child(Object node, Object step) {
        if (step instanceof String) {
            return node instanceof Map ? Json.map(node).get(step) : null;
        }
        int index = (Integer) step;
        return node instanceof List && index < Json.list(node).size()
                ? Json.list(node).get(index)
                : null;
    }

    private static List<Object> steps(String path) {
        List<Object> steps = new ArrayList<>();
        Matcher matcher = STEP.matcher(path);
        int at = path.startsWith("$") ? 1 : -1;
        while (at > 0 && at < path.length()) {
            if (!matcher.find(at) || matcher.start() != at) {
                at = -1;
            } else {
                steps.add(step(matcher));
                at = matcher.end();
            }
        }
        if (at < 0) {
            throw new IllegalArgumentException(
                    "ingest_document_value: not a path such as $.a.b[0] or $['a b']: " + path);
        }
        return steps;
    }

    private static Object step(Matcher matcher) {
        if (matcher.group(1) != null) {
            return matcher.group(1);
        }
        if (matcher.group(2) != null) {
            return Integer.valueOf(matcher.group(2));
        }
        return matcher.group(3).replaceAll("\\\\(.)", "$1");
    }
}
