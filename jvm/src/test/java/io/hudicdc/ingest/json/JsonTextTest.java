package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link JsonText} at its edges; tests/jvm/test_is_json.py compares it with Python's {@code json}. */
class JsonTextTest {
    private static final String EVENT =
            "{\"after\":{\"id\":1,\"v\":\"\\u00e4\\ud83e\\udd86 \\\" \\\\\"},\"n\":[-0.5e+3,NaN,-Infinity,true,null,[],{}]}";

    @Test
    void anEventIsValid() {
        assertTrue(isValid(EVENT));
        assertTrue(isValid(" \n\t\r" + EVENT + " "));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "nope",
                "INF",
                "+1",
                "01",
                "1.",
                ".5",
                "1e",
                "0x1",
                "-",
                "\"\\x\"",
                "\"\\ud83e\"",
                "\"\\udd86\"",
                "\"\\ud83e\\ud83e\"",
                "\"\\u12g4\"",
                "\"open",
                "\"tab\t\"",
                "[1,]",
                "[1",
                "{\"a\":1,}",
                "{\"a\" 1}",
                "{\"a\":}",
                "{1:1}",
                "{\"a\":1]",
                "1 2",
                "\ufeff1",
                "\u00a01",
                EVENT + "],\"v\":[" + EVENT
            })
    void whatOtherParsersAcceptIsRefused(String text) {
        assertFalse(isValid(text), text);
    }

    @Test
    void depthAndDigitsHaveLimits() {
        int depth = JsonText.MAX_DEPTH;
        assertTrue(isValid("[".repeat(depth) + "]".repeat(depth)));
        assertFalse(isValid("[".repeat(depth + 1) + "]".repeat(depth + 1)));
        assertTrue(isValid("1".repeat(JsonText.MAX_DIGITS)));
        assertFalse(isValid("1".repeat(JsonText.MAX_DIGITS + 1)));
    }

    @Test
    void bytesThatAreNotUtf8AreRefused() {
        assertFalse(JsonText.isValid(UTF8String.fromBytes(new byte[] {'"', (byte) 0xff, '"'})));
        assertFalse(JsonText.isValid(UTF8String.fromBytes(new byte[] {'"', (byte) 0xc0, (byte) 0x80, '"'})));
        assertFalse(
                JsonText.isValid(UTF8String.fromBytes(new byte[] {'"', (byte) 0xed, (byte) 0xa0, (byte) 0x80, '"'})));
    }

    @Test
    void anObjectBeginsWithABrace() {
        assertTrue(JsonText.isObject(UTF8String.fromString(" {}")));
        assertFalse(JsonText.isObject(UTF8String.fromString("[{}]")));
        assertFalse(JsonText.isObject(UTF8String.fromString("{")));
        assertFalse(JsonText.isObject(UTF8String.EMPTY_UTF8));
    }

    private static boolean isValid(String text) {
        return JsonText.isValid(UTF8String.fromString(text));
    }
}
