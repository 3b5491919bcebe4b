package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link DocumentKey}: an {@code _id} has one text, and two have two. */
class DocumentKeyTest {
    /** A text, then the spellings that it stands for. */
    private static final List<List<String>> SAME = List.of(
            List.of("1004", "1004", " 1004 ", "{\"$numberInt\": \"1004\"}", "{\"$numberLong\":\"1004\"}", "1004.0"),
            List.of(
                    "5",
                    "{\"$numberDecimal\": \"5.00\"}",
                    "{\"$numberDouble\":\"5.0\"}",
                    "5.0",
                    "{\"$numberDecimal\":\"5E+0\"}",
                    "5"),
            List.of("0", "0", "-0.0", "0.0", "{\"$numberDecimal\":\"0E+3\"}", "{\"$numberDecimal\":\"-0\"}"),
            List.of("\"1234\"", "\"1234\"", " \"1234\"", "\"\\u0031234\""),
            List.of("\"k\\\"1000\"", "\"k\\\"1000\"", "\"k\\u00221000\""),
            List.of("\"中🙂/\"", "\"中🙂/\"", "\"中\\ud83d\\ude42\\/\""),
            List.of("5000001009", "5000001009", "{\"$numberLong\": \"5000001009\"}", "{\"$numberLong\": 5000001009}"),
            List.of("-9223372036854775808", "-9223372036854775808", "{\"$numberLong\":\"-9223372036854775808\"}"),
            List.of(
                    "{\"$oid\":\"65f0c0de00000000000003e8\"}",
                    "{\"$oid\": \"65f0c0de00000000000003e8\"}",
                    "{\"$oid\":\"65F0C0DE00000000000003E8\"}"),
            List.of(
                    "{\"$binary\":{\"base64\":\"AQI=\",\"subType\":\"04\"}}",
                    "{\"$binary\":\"AQI=\",\"$type\":\"04\"}",
                    "{\"$binary\": {\"base64\": \"AQI=\",\"subType\": \"04\"}}",
                    "{\"$type\": 4, \"$binary\":\"AQI=\"}",
                    "{\"$binary\": {\"subType\": \"4\", \"base64\": \"AQI=\"}}"),
            List.of(
                    "{\"$binary\":{\"base64\":\"EjRWeBI0VngSNFZ4EjRWeA==\",\"subType\":\"04\"}}",
                    "{\"$uuid\": \"12345678-1234-5678-1234-567812345678\"}",
                    "{\"$binary\":\"EjRWeBI0VngSNFZ4EjRWeA==\",\"$type\":\"04\"}"),
            List.of(
                    "{\"$date\":\"2025-02-13T14:01:37.97Z\"}",
                    "{\"$date\": 1739455297970}",
                    "{\"$date\":\"2025-02-13T14:01:37.970Z\"}",
                    "{\"$date\":\"2025-02-13T15:01:37.97+01:00\"}",
                    "{\"$date\":{\"$numberLong\":\"1739455297970\"}}"),
            List.of(
                    "{\"$date\":{\"$numberLong\":\"-1\"}}",
                    "{\"$date\":-1}",
                    "{\"$date\":\"1969-12-31T23:59:59.999Z\"}"),
            List.of("1.5", "1.5", "1.50", "{\"$numberDouble\":\"1.5\"}", "{\"$numberDecimal\":\"1.500\"}", "15e-1"),
            List.of("{\"$numberDecimal\":\"0.1\"}", "{\"$numberDecimal\":\"0.1\"}", "{\"$numberDecimal\":\"0.10\"}"),
            List.of(
                    "{\"$numberDouble\":\"NaN\"}",
                    "NaN",
                    "{\"$numberDouble\":\"NaN\"}",
                    "{\"$numberDecimal\":\"NaN\"}"),
            List.of(
                    "{\"a\":1007,\"b\":\"x\"}",
                    "{\"a\": 1007,\"b\": \"x\"}",
                    "{\"a\":{\"$numberLong\":\"1007\"},\"b\":\"x\"}"),
            List.of("{\"b\":\"x\",\"a\":1007}", "{\"b\": \"x\", \"a\": 1007}"),
            List.of("{\"d\":{\"$date\":\"1970-01-01T00:00:00Z\"}}", "{\"d\": {\"$date\": 0}}"),
            List.of("{\"$timestamp\":{\"t\":1,\"i\":2}}", "{\"$timestamp\": {\"t\": 1, \"i\": 2}}"),
            List.of("0.1", "0.1", "{\"$numberDouble\":\"0.1\"}"),
            List.of("1.0E20", "1e20", "100000000000000000000", "{\"$numberDecimal\":\"1E+20\"}"),
            List.of("{\"$date\":true}", "{\"$date\": true}"),
            List.of("null", "null"));

    private static final List<String> BROKEN =
            List.of("", "{", "{\"a\":1", "1 2", "{'a':1}", "abc", "\"open", "1E99999999999");

    private final DocumentKey key = new DocumentKey();

    @Test
    void spellingsOfOneIdHaveOneText() {
        Set<String> texts = new HashSet<>();
        for (List<String> spellings : SAME) {
            for (String spelling : spellings) {
                assertEquals(spellings.get(0), key.call(spelling), spelling);
                UTF8String document = UTF8String.fromString("{\"_id\": " + spelling + ", \"a\": {");
                if (!spelling.equals("null")) {
                    assertEquals(
                            spellings.get(0), DocumentKey.ofDocument(document).toString());
                }
            }
            texts.add(spellings.get(0));
        }
        assertEquals(SAME.size(), texts.size());
    }

    @Test
    void aNumberOfHostileExponentHasAShortKey() {
        assertEquals("0", key.call("0e1000000000"));
        assertEquals("0", key.call("1e-1000000000"));
        String large = "{\"$numberDecimal\":\"1E+1000000000\"}";
        assertEquals(large, key.call("1e1000000000"));
        assertEquals(large, key.call(large));
        String endless = "{\"$numberDecimal\":\"" + "9".repeat(20_000) + "\"}";
        assertEquals(endless, key.call(endless)); // MongoDB has no such number
    }

    @Test
    void aNumberBeyondJavasRangeIsNoKeyAndDiffersFromEveryKey() {
        for (String number : List.of("1e99999999999", "1000e2147483647", "{\"a\":1e99999999999}")) {
            assertNull(key.call(number), number);
            UTF8String document = UTF8String.fromString("{\"_id\": " + number + "}");
            assertEquals(number, DocumentKey.ofDocument(document).toString());
        }
    }

    @Test
    void aTextThatIsNotJsonHasNoKey() {
        assertNull(key.call(null));
        BROKEN.forEach(text -> assertNull(key.call(text), text));
    }

    @Test
    void aDocumentWithoutAnIdHasNoKey() {
        for (String text : List.of("{}", "{\"a\": {\"_id\": 1}}", "[]", "1", "", "{\"a\": 1")) {
            assertNull(DocumentKey.ofDocument(UTF8String.fromString(text)), text);
        }
    }
}
