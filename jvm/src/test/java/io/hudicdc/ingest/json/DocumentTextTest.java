package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** {@link DocumentText}: one text for equal documents, another one for each difference. */
class DocumentTextTest {
    private static final List<List<String>> EQUAL = List.of(
            List.of(
                    "{\"a\": 5, \"b\": {\"c\": [1, null, true], \"d\": \"x\"}}",
                    "{\"b\":{\"d\":\"x\",\"c\":[1.0,null,true]},\"a\":{\"$numberLong\":\"5\"}}"),
            List.of("{\"n\": {\"$numberDecimal\": \"5.00\"}}", "{\"n\": {\"$numberDouble\": \"5.0\"}}"),
            List.of(
                    "{\"t\": {\"$date\": 1704067200000}}",
                    "{\"t\": {\"$date\": {\"$numberLong\": \"1704067200000\"}}}"),
            List.of("{\"t\": {\"$date\": -1}}", "{\"t\": {\"$date\": {\"$numberLong\": \"-1\"}}}"),
            List.of(
                    "{\"b\": {\"$binary\": \"AAE=\", \"$type\": \"00\"}}",
                    "{\"b\": {\"$binary\": {\"base64\": \"AAE=\", \"subType\": \"00\"}}}"),
            List.of(
                    "{\"r\": {\"$regex\": \"^a\", \"$options\": \"i\"}}",
                    "{\"r\": {\"$regularExpression\": {\"pattern\": \"^a\", \"options\": \"i\"}}}"),
            List.of(
                    "{\"i\": {\"$oid\": \"5F43A1B2C3D4E5F60718293A\"}}",
                    "{\"i\": {\"$oid\": \"5f43a1b2c3d4e5f60718293a\"}}"),
            List.of(
                    "{\"n\": NaN, \"i\": -Infinity}",
                    "{\"i\": {\"$numberDouble\": \"-Infinity\"}, \"n\": {\"$numberDouble\": \"NaN\"}}"),
            List.of("{\"z\": -0.0}", "{\"z\": 0}"),
            List.of("{\"s\": {\"$symbol\": \"x\"}, \"u\": {\"$undefined\": true}}", "{\"s\": \"x\", \"u\": null}"));

    private static final List<List<String>> DIFFERENT = List.of(
            List.of("{\"a\": 5}", "{\"a\": \"5\"}"),
            List.of("{\"a\": null}", "{}"),
            List.of("{\"a\": \"\"}", "{\"a\": null}"),
            List.of("{\"a\": [1, 2]}", "{\"a\": [2, 1]}"),
            List.of("{\"a\": 0.1}", "{\"a\": {\"$numberDecimal\": \"0.1\"}}"),
            List.of("{\"a\": 0.1}", "{\"a\": 0.10000000000000002}"),
            List.of("{\"a\": {\"$numberLong\": \"9007199254740993\"}}", "{\"a\": 9007199254740992}"),
            List.of("{\"t\": {\"$date\": 1704067200000}}", "{\"t\": {\"$date\": 1704067200001}}"),
            List.of(
                    "{\"t\": {\"$timestamp\": {\"t\": 1, \"i\": 2}}}",
                    "{\"t\": {\"$timestamp\": {\"t\": 1, \"i\": 3}}}"),
            List.of(
                    "{\"b\": {\"$binary\": \"AAE=\", \"$type\": \"00\"}}",
                    "{\"b\": {\"$binary\": \"AAE=\", \"$type\": \"04\"}}"),
            List.of("{\"a\": true}", "{\"a\": 1}"),
            List.of("{\"a\": \"x \"}", "{\"a\": \"x\"}"),
            List.of("{\"a\": {\"b\": 1}}", "{\"a.b\": 1}"));

    @Test
    void equalDocumentsHaveOneText() {
        EQUAL.forEach(pair -> assertEquals(text(pair.get(0)), text(pair.get(1))));
    }

    @Test
    void aDifferenceStays() {
        DIFFERENT.forEach(pair -> assertNotEquals(text(pair.get(0)), text(pair.get(1))));
    }

    @Test
    void aTextThatIsNotJsonIsNull() {
        assertNull(DocumentText.comparable(UTF8String.fromString("{\"a\": ")));
    }

    private static String text(String json) {
        return DocumentText.comparable(UTF8String.fromString(json)).toString();
    }
}
