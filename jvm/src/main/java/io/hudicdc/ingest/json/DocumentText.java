package io.hudicdc.ingest.json;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code ingest_document_text(json)}: one text for all spellings of a MongoDB document. */
public final class DocumentText {
    private DocumentText() {}

    /**
     * Spell a document so that equal values have equal texts: numbers by value, names in order; null for invalid JSON.
     *
     * <p>The types symbol and undefined, which MongoDB has deprecated, read as its driver for Python reads them.
     */
    public static UTF8String comparable(UTF8String json) {
        try {
            Object tree = ExtendedJson.canonical(Json.parse(json.toString()));
            return UTF8String.fromString(Json.write(sorted(tree), Json.Style.COMPACT));
        } catch (IOException | NumberFormatException | ArithmeticException malformed) {
            return null;
        }
    }

    private static Object sorted(Object node) {
        if (node instanceof List) {
            List<Object> elements = new ArrayList<>();
            Json.list(node).forEach(item -> elements.add(sorted(item)));
            return elements;
        }
        if (!(node instanceof Map)) {
            return node;
        }
        Map<String, Object> fields = Json.map(node);
        if (fields.size() == 1 && fields.get("$symbol") instanceof String) {
            return fields.get("$symbol");
        }
        if (fields.size() == 1 && Boolean.TRUE.equals(fields.get("$undefined"))) {
            return null;
        }
        Map<String, Object> ordered = new TreeMap<>();
        fields.forEach((name, value) -> ordered.put(name, sorted(value)));
        return ordered;
    }
}
