package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link DocumentValue}: values come out of a document as text that Spark can cast. */
class DocumentValueTest {
    private static final String DOCUMENT = String.join(
            "\n",
            "{\"_id\": {\"$oid\": \"65f0c0de00000000000003e8\"}, \"n\": 5, \"f\": 1.0E10,",
            " \"big\": {\"$numberLong\": \"5000001009\"},",
            " \"d\": {\"$numberDecimal\": \"1.20E+3\"}, \"x\": {\"$numberDouble\": \"1.5\"}, \"i\": {\"$numberInt\": \"7\"}, \"nan\": NaN,",
            " \"inf\": -Infinity, \"date\": {\"$date\": 1739455297970}, \"iso\": {\"$date\": \"2025-02-13T14:01:37.97Z\"},",
            " \"old\": {\"$date\": {\"$numberLong\": \"-62135596800001\"}}, \"b1\": {\"$binary\": \"AQI=\", \"$type\": \"04\"},",
            " \"b2\": {\"$binary\": {\"base64\": \"AQI=\", \"subType\": \"04\"}}, \"t\": {\"$timestamp\": {\"t\": 1700000000, \"i\": 2}},",
            " \"r1\": {\"$regex\": \"^a.*\", \"$options\": \"i\"}, \"r2\": {\"$regularExpression\": {\"pattern\": \"^a.*\", \"options\": \"i\"}},",
            " \"s\": \"quote\\\"中\\ud83d\\ude42\", \"yes\": true, \"no\": null,",
            " \"un\": {\"$undefined\": true}, \"sym\": {\"$symbol\": \"q\"},",
            " \"min\": {\"$minKey\": 1}, \"a b\": {\"c.d\": [1, {\"e\": \"deep\"}]}, \"arr\": [1, \"660\", null, [2, 3]], \"\": 1,",
            " \"o\": {\"x\": 7, \"when\": {\"$date\": 0}, \"y\": \"é\"}, \"e\": {}}");

    /** A path, then its value. */
    private static final List<List<String>> VALUES = List.of(
            List.of("$._id", "65f0c0de00000000000003e8"),
            List.of("$.n", "5"),
            List.of("$.f", "10000000000"),
            List.of("$.big", "5000001009"),
            List.of("$.d", "1200"),
            List.of("$.x", "1.5"),
            List.of("$.i", "7"),
            List.of("$.nan", "NaN"),
            List.of("$.inf", "-Infinity"),
            List.of("$.date", "2025-02-13T14:01:37.970Z"),
            List.of("$.iso", "2025-02-13T14:01:37.970Z"),
            List.of("$.old", "0000-12-31T23:59:59.999Z"),
            List.of("$.b1", "AQI="),
            List.of("$.b2", "AQI="),
            List.of("$.t", "1700000000"),
            List.of("$.r1", "^a.*"),
            List.of("$.r2", "^a.*"),
            List.of("$.s", "quote\"中🙂"),
            List.of("$.yes", "true"),
            List.of("$.sym", "q"),
            List.of("$.min", "{\"$minKey\":1}"),
            List.of("$['a b']['c.d'][1].e", "deep"),
            List.of("$['']", "1"),
            List.of("$.arr", "[1,\"660\",null,[2,3]]"),
            List.of("$.arr[0]", "1"),
            List.of("$.arr[1]", "660"),
            List.of("$.arr[3][1]", "3"),
            List.of("$.o", "{\"x\":7,\"when\":{\"$date\":0},\"y\":\"é\"}"),
            List.of("$.o.when", "1970-01-01T00:00:00.000Z"),
            List.of("$.o.x", "7"),
            List.of("$.e", "{}"));

    private static final List<String> WITHOUT_VALUE =
            List.of("$.no", "$.un", "$.arr[2]", "$.arr[4]", "$.arr.x", "$.o[0]", "$.n.deeper", "$.absent");

    private final DocumentValue value = new DocumentValue();

    @Test
    void valuesLoseTheirWrappers() {
        VALUES.forEach(pair -> assertEquals(pair.get(1), value.call(DOCUMENT, pair.get(0)), pair.get(0)));
        WITHOUT_VALUE.forEach(path -> assertNull(value.call(DOCUMENT, path), path));
    }

    @Test
    void aNumberOfHostileExponentKeepsItsText() {
        String document = "{\"n\": {\"$numberDecimal\": \"1E+1000000000\"}, \"m\": 1e1000000000}";
        assertEquals("1E+1000000000", value.call(document, "$.n"));
        assertEquals("1e1000000000", value.call(document, "$.m"));
    }

    @Test
    void aTextThatIsNotJsonHasNoValues() {
        assertNull(value.call(null, "$.a"));
        List.of("", "{", "{\"a\":1} x", "[1").forEach(text -> assertNull(value.call(text, "$.a"), text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "", "$.", "$.a[x]", "$a", "$.a..b", "$['a]", "$.a]"})
    void aPathThatCannotBeReadFails(String path) {
        String error = assertThrows(IllegalArgumentException.class, () -> value.call("{\"a\":1}", path))
                .getMessage();
        assertTrue(error.contains("not a path such as") && error.endsWith(path), error);
    }
}
