package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.Test;
import scala.collection.JavaConverters;

/**
 * {@link DocumentUpdate} gives the document that MongoDB has after an update; tests/jvm/test_document_update.py has
 * recorded updates, and another implementation.
 */
class DocumentUpdateTest {
    /** A document, the fields to set by dotted paths, and the result. */
    private static final List<List<String>> PATHS = List.of(
            List.of(
                    "{\"addr\": {\"city\": \"x\", \"zip\": 1}}",
                    "{\"addr.city\": \"y\"}",
                    "{\"addr\": {\"city\": \"y\",\"zip\": 1}}"),
            List.of("{\"tags\": [\"a\", \"b\"]}", "{\"tags.1\": \"z\"}", "{\"tags\": [\"a\",\"z\"]}"),
            List.of("{\"tags\": {\"1\": \"b\"}}", "{\"tags.1\": \"z\"}", "{\"tags\": {\"1\": \"z\"}}"),
            List.of("{\"tags\": [\"a\"]}", "{\"tags.3\": \"z\"}", "{\"tags\": [\"a\",null,null,\"z\"]}"),
            List.of(
                    "{\"l\": [{\"x\": 1}, {\"x\": 2}]}",
                    "{\"l.1.x\": {\"y\": [1]}, \"l.0.n.m\": 0}",
                    "{\"l\": [{\"x\": 1,\"n\": {\"m\": 0}},{\"x\": {\"y\": [1]}}]}"),
            List.of("{}", "{\"a.0.b\": 1}", "{\"a\": {\"0\": {\"b\": 1}}}"),
            List.of("{\"a\": 5, \"b\": null}", "{\"a.x\": 1, \"b.y\": 2}", "{\"a\": {\"x\": 1},\"b\": {\"y\": 2}}"),
            List.of("{\"a\": {\"$date\": 5}}", "{\"a.x\": 1}", "{\"a\": {\"x\": 1}}"),
            List.of("{\"l\": [1, null]}", "{\"l.1.x\": 2}", "{\"l\": [1,{\"x\": 2}]}"));

    /** MongoDB 5 allows dots in names, and its events do not mark them. */
    private static final List<List<String>> NAMES_WITH_DOTS = List.of(
            List.of("{\"a.b\": 1}", "{\"a.b\": 2}", "{\"a.b\": 2}"),
            List.of("{\"a.b\": 1, \"a\": {\"b\": 1}}", "{\"a.b\": 2}", "{\"a.b\": 1,\"a\": {\"b\": 2}}"),
            List.of("{\"a.b\": 1, \"a\": {\"c\": 1}}", "{\"a.b\": 2}", "{\"a.b\": 2,\"a\": {\"c\": 1}}"),
            List.of("{\"a\": {\"b.c\": {\"d\": 1}}}", "{\"a.b.c.d\": 2}", "{\"a\": {\"b.c\": {\"d\": 2}}}"),
            List.of("{\"a.b\": {\"c\": 1}}", "{\"a.b.d\": 2}", "{\"a.b\": {\"c\": 1,\"d\": 2}}"),
            List.of("{\"a\": {}}", "{\"a.b\": 2}", "{\"a\": {\"b\": 2}}"));

    /** A value in {@code updatedFields}, which is v2 relaxed, and in {@code after}, which is v1 strict. */
    private static final List<List<String>> SPELLINGS = List.of(
            List.of("5000001009", "{\"$numberLong\": \"5000001009\"}"),
            List.of("2147483647", "2147483647"),
            List.of("-2147483648", "-2147483648"),
            List.of("2147483648", "{\"$numberLong\": \"2147483648\"}"),
            List.of("1.50", "1.50"),
            List.of("1.0E10", "1.0E10"),
            List.of("{\"$numberDouble\": \"NaN\"}", "NaN"),
            List.of("{\"$numberDouble\": \"-Infinity\"}", "-Infinity"),
            List.of("{\"$numberDouble\": \"1.5\"}", "1.5"),
            List.of("{\"$numberInt\": \"7\"}", "7"),
            List.of("{\"$numberLong\": \"7\"}", "{\"$numberLong\": \"7\"}"),
            List.of("{\"$numberDecimal\": \"1.20\"}", "{\"$numberDecimal\": \"1.20\"}"),
            List.of("{\"$date\": \"2025-02-13T14:01:37.97Z\"}", "{\"$date\": 1739455297970}"),
            List.of("{\"$date\": {\"$numberLong\": \"-1\"}}", "{\"$date\": -1}"),
            List.of(
                    "{\"$binary\": {\"base64\": \"AQI=\", \"subType\": \"04\"}}",
                    "{\"$binary\": \"AQI=\",\"$type\": \"04\"}"),
            List.of(
                    "{\"$uuid\": \"12345678-1234-5678-1234-567812345678\"}",
                    "{\"$binary\": \"EjRWeBI0VngSNFZ4EjRWeA==\",\"$type\": \"04\"}"),
            List.of(
                    "{\"$regularExpression\": {\"pattern\": \"^a\", \"options\": \"i\"}}",
                    "{\"$regex\": \"^a\",\"$options\": \"i\"}"),
            List.of(
                    "{\"$timestamp\": {\"t\": 4000000000, \"i\": 2}}",
                    "{\"$timestamp\": {\"t\": 4000000000,\"i\": 2}}"),
            List.of("{\"$oid\": \"65f0c0de00000000000003e8\"}", "{\"$oid\": \"65f0c0de00000000000003e8\"}"),
            List.of("{\"$minKey\": 1}", "{\"$minKey\": 1}"),
            List.of("{\"$date\": true}", "{\"$date\": true}"),
            List.of(
                    "[{\"x\": {\"$date\": \"1970-01-01T00:00:00Z\"}}, 5000001009, null, true]",
                    "[{\"x\": {\"$date\": 0}},{\"$numberLong\": \"5000001009\"},null,true]"));

    private static final String UNTOUCHED =
            "{\"a\": 0.1000000000000000055511151231257827,\"b\": 1.0E10,\"c\": -0.0,\"d\": NaN,\"e\": [Infinity,-Infinity],\"f\": 123456789012345678901234567890,\"g\": {\"$numberLong\": \"5\"},\"h\": \"\\\"\\\\\\n\\u0001/é中\\ud83d\\ude42\"}";

    private static final List<String> BROKEN = List.of("", "{", "[]", "5", "{\"a\":1} 2", "null", "{'a': 1}");

    private final DocumentUpdate update = new DocumentUpdate();

    @Test
    void dottedPathsLeadIntoDocumentsAndArrays() {
        PATHS.forEach(test -> assertEquals(test.get(2), set(test.get(0), test.get(1))));
    }

    @Test
    void aNameWithADotIsFoundWhereNoNestedPathIs() {
        NAMES_WITH_DOTS.forEach(test -> assertEquals(test.get(2), set(test.get(0), test.get(1))));
    }

    @Test
    void newValuesTakeTheSpellingOfTheDocument() {
        SPELLINGS.forEach(pair ->
                assertEquals("{\"a\": " + pair.get(1) + "}", set("{\"a\": 0}", "{\"a\": " + pair.get(0) + "}")));
    }

    @Test
    void namesKeepTheirPlaceAndNewOnesComeLast() {
        String changed = apply("{\"_id\": 1, \"a\": 2, \"b\": 3}", "{\"c\": 4, \"a\": 5}", List.of("b"), List.of());
        assertEquals("{\"_id\": 1,\"a\": 5,\"c\": 4}", changed);
    }

    @Test
    void aRemovedFieldIsDroppedAndARemovedElementBecomesNull() {
        String document = "{\"a\": {\"b\": 1, \"c\": 2}, \"l\": [1, 2, 3], \"d.e\": 1, \"d\": {}}";
        List<String> removed = List.of("a.b", "l.1", "l.9", "no.such.path", "a.x.y", "d.e");
        assertEquals("{\"a\": {\"c\": 2},\"l\": [1,null,3],\"d\": {}}", apply(document, null, removed, List.of()));
    }

    @Test
    void arraysAreCutBeforeTheyAreWritten() {
        assertEquals(
                "{\"a\": {\"l\": [1,null,9]}}",
                apply(
                        "{\"a\": {\"l\": [1, 2, 3, 4]}}",
                        "{\"a.l.2\": 9}",
                        List.of(),
                        List.of(RowFactory.create("a.l", 1))));
        List<Row> cuts = List.of(RowFactory.create("l.0", 0), RowFactory.create("l", 5), RowFactory.create("no", 1));
        assertEquals("{\"l\": [[],3]}", apply("{\"l\": [[1, 2], 3]}", null, List.of(), cuts));
    }

    @Test
    void untouchedValuesKeepTheirText() {
        assertEquals(UNTOUCHED, set(UNTOUCHED, "{}"));
        assertEquals(UNTOUCHED, update.call(UNTOUCHED, null, null, null));
    }

    @Test
    void anInvalidDocumentGivesNull() {
        assertNull(set(null, "{\"a\": 1}"));
        BROKEN.forEach(text -> assertNull(set(text, "{}"), text));
        BROKEN.forEach(text -> assertNull(set("{}", text), text));
    }

    @Test
    void allPathsOfAnUpdateShareOneLimitOfPadding() {
        String updates = "{\"a.1000000\": 1, \"b.1000000\": 1}";
        String padded = set("{\"a\": [], \"b\": []}", updates);
        assertTrue(padded.endsWith(",1],\"b\": []}"), "the second array stays empty");
        assertNull(set("{}", "{\"" + ".".repeat(2_000) + "\": 1}"));
    }

    private String set(String document, String updated) {
        return update.call(document, updated, null, null);
    }

    private String apply(String document, String updated, List<String> removed, List<Row> truncated) {
        return update.call(
                document, updated, JavaConverters.asScalaBuffer(removed), JavaConverters.asScalaBuffer(truncated));
    }
}
