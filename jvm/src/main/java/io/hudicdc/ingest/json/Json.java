package io.hudicdc.ingest.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON text as a tree of {@code Map} (in the order of the text), {@code List}, {@code String}, {@code Boolean},
 * {@code Json.Number} and null, and back.
 *
 * <p>Spark's own parsers read numbers as doubles or refuse them; here a number keeps its text.
 */
final class Json {
    /** A number, or a bare {@code NaN}, {@code Infinity}, {@code -Infinity}, as it was written. */
    static final class Number {
        final String text;

        Number(String text) {
            this.text = text;
        }

        /** Return whether this is an integer: MongoDB's writers print doubles with a point or an exponent. */
        boolean isInteger() {
            return text.chars().allMatch(c -> c == '-' || (c >= '0' && c <= '9'));
        }
    }

    /** The space between tokens, and the characters to escape. */
    enum Style {
        /** Without spaces; escapes only the characters that JSON requires. */
        COMPACT(":"),
        /** As the MongoDB driver's JsonWriter prints the `after` of an event in its strict mode. */
        DRIVER(": ");

        private final String colon;

        Style(String colon) {
            this.colon = colon;
        }
    }

    private static final JsonFactory FACTORY = new JsonFactoryBuilder()
            // JsonWriter prints the doubles NaN and Infinity bare in strict mode.
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            // A document has up to 16 MiB; its base64 text exceeds Jackson's default limit.
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNumberLength(10_000)
                    .build())
            .build();

    private Json() {}

    /** Read one value. Throws an IOException for invalid JSON, and for text after the value. */
    static Object parse(String text) throws IOException {
        try (JsonParser parser = FACTORY.createParser(text)) {
            Object value = read(parser, next(parser));
            if (parser.nextToken() != null) {
                throw new IOException("text after the value");
            }
            return value;
        }
    }

    /** Read one value that must be an object. */
    static Map<String, Object> parseObject(String text) throws IOException {
        Object value = parse(text);
        if (!(value instanceof Map)) {
            throw new IOException("not an object");
        }
        return map(value);
    }

    /** Read the first member of a name of an object in UTF-8, and nothing behind it; null without such a member. */
    static Object member(byte[] text, String name) throws IOException {
        try (JsonParser parser = FACTORY.createParser(text)) {
            if (next(parser) != JsonToken.START_OBJECT) {
                throw new IOException("not an object");
            }
            while (next(parser) != JsonToken.END_OBJECT) {
                boolean isFound = name.equals(parser.getCurrentName());
                JsonToken token = next(parser);
                if (isFound) {
                    return read(parser, token);
                }
                parser.skipChildren();
            }
            return null;
        }
    }

    /** Cast a node to an object; {@link #parse} creates only objects with string keys. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object node) {
        return (Map<String, Object>) node;
    }

    /** Cast a node to an array. */
    @SuppressWarnings("unchecked")
    static List<Object> list(Object node) {
        return (List<Object>) node;
    }

    static String write(Object value, Style style) {
        StringBuilder out = new StringBuilder();
        write(value, style, out);
        return out.toString();
    }

    private static JsonToken next(JsonParser parser) throws IOException {
        JsonToken token = parser.nextToken();
        if (token == null) {
            throw new IOException("the text ends too early");
        }
        return token;
    }

    private static Object read(JsonParser parser, JsonToken token) throws IOException {
        switch (token) {
            case START_OBJECT:
                return readObject(parser);
            case START_ARRAY:
                return readArray(parser);
            case VALUE_STRING:
                return parser.getText();
            case VALUE_NUMBER_INT:
            case VALUE_NUMBER_FLOAT:
                return new Number(parser.getText());
            case VALUE_TRUE:
                return Boolean.TRUE;
            case VALUE_FALSE:
                return Boolean.FALSE;
            case VALUE_NULL:
                return null;
            default:
                throw new IOException("unexpected " + token);
        }
    }

    private static Map<String, Object> readObject(JsonParser parser) throws IOException {
        Map<String, Object> fields = new LinkedHashMap<>();
        while (next(parser) != JsonToken.END_OBJECT) {
            String name = parser.getCurrentName();
            fields.put(name, read(parser, next(parser)));
        }
        return fields;
    }

    private static List<Object> readArray(JsonParser parser) throws IOException {
        List<Object> elements = new ArrayList<>();
        for (JsonToken token = next(parser); token != JsonToken.END_ARRAY; token = next(parser)) {
            elements.add(read(parser, token));
        }
        return elements;
    }

    private static void write(Object value, Style style, StringBuilder out) {
        if (value instanceof Map) {
            writeObject(map(value), style, out);
        } else if (value instanceof List) {
            writeArray(list(value), style, out);
        } else if (value instanceof String) {
            writeString((String) value, style, out);
        } else if (value instanceof Number) {
            out.append(((Number) value).text);
        } else {
            out.append(value); // true, false, null
        }
    }

    private static void writeObject(Map<String, Object> fields, Style style, StringBuilder out) {
        out.append('{');
        String comma = "";
        for (Map.Entry<String, Object> field : fields.entrySet()) {
            out.append(comma);
            writeString(field.getKey(), style, out);
            out.append(style.colon);
            write(field.getValue(), style, out);
            comma = ",";
        }
        out.append('}');
    }

    private static void writeArray(List<Object> elements, Style style, StringBuilder out) {
        out.append('[');
        String comma = "";
        for (Object element : elements) {
            out.append(comma);
            write(element, style, out);
            comma = ",";
        }
        out.append(']');
    }

    private static void writeString(String text, Style style, StringBuilder out) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            writeCharacter(text.charAt(at), style, out);
        }
        out.append('"');
    }

    private static void writeCharacter(char c, Style style, StringBuilder out) {
        int known = "\"\\\b\f\n\r\t".indexOf(c);
        if (known >= 0) {
            out.append('\\').append("\"\\bfnrt".charAt(known));
        } else if (c < ' ' || (style == Style.DRIVER && isEscapedByDriver(c))) {
            out.append(String.format("\\u%04x", (int) c));
        } else {
            out.append(c);
        }
    }

    /** Return whether JsonWriter escapes a character outside ASCII; supplementary characters are two surrogates. */
    private static boolean isEscapedByDriver(char c) {
        if (c < 0x7f) {
            return false;
        }
        switch (Character.getType(c)) {
            case Character.UNASSIGNED:
            case Character.MODIFIER_LETTER:
            case Character.NON_SPACING_MARK:
            case Character.COMBINING_SPACING_MARK:
            case Character.LINE_SEPARATOR:
            case Character.PARAGRAPH_SEPARATOR:
            case Character.CONTROL:
            case Character.FORMAT:
            case Character.PRIVATE_USE:
            case Character.SURROGATE:
                return true;
            default:
                return false;
        }
    }
}
