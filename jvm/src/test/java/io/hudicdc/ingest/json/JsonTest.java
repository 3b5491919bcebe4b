package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link Json} keeps the text of numbers, and writes as the MongoDB driver does. */
class JsonTest {
    @Test
    void numbersKeepTheirText() throws IOException {
        String text = "{\"a\":0.1000000000000000055511151231257827,\"b\":[1.0E10,-0.0,NaN,-Infinity,1e999]}";
        assertEquals(text, Json.write(Json.parse(text), Json.Style.COMPACT));
    }

    @Test
    void onlyWhatJsonRequiresIsEscapedInCompactText() throws IOException {
        String text = "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001/é\u2028\uD83D\uDE42\"";
        assertEquals(text, Json.write(Json.parse(text), Json.Style.COMPACT));
    }

    @Test
    void theDriverEscapesCharactersThatAreNotPrinted() throws IOException {
        Object text = Json.parse("\"é中\u2028\u00a0\u02b0\uD83D\uDE42\"");
        assertEquals("\"é中\\u2028\u00a0\\u02b0\\ud83d\\ude42\"", Json.write(text, Json.Style.DRIVER));
    }

    @Test
    void textAfterTheValueAndTextThatEndsTooEarlyAreRefused() {
        for (String text : List.of("", "{", "[1", "1 2", "{} x", "\"open", "nul")) {
            assertThrows(IOException.class, () -> Json.parse(text), text);
        }
    }

    @Test
    void aMemberIsReadWithoutWhatFollowsIt() throws IOException {
        assertEquals("x", Json.member(octets("{\"a\": {\"_id\": 1}, \"_id\": \"x\", not read"), "_id"));
        assertNull(Json.member(octets("{\"a\": 1}"), "_id"));
        assertThrows(IOException.class, () -> Json.member(octets("[]"), "_id"));
    }

    @Test
    void aMembersFractionKeepsItsDigits() {
        JsonMember member = new JsonMember();
        assertEquals("0.10", member.call("{\"a\": 0.10}", "a"));
        assertEquals("{\"b\":[1.50,null]}", member.call("{\"a\": {\"b\": [1.50, null]}}", "a"));
        assertNull(member.call("{\"a\": null}", "a"));
        assertNull(member.call("{}", "a"));
        assertNull(member.call("[", "a"));
        assertNull(member.call(null, "a"));
    }

    private static byte[] octets(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
