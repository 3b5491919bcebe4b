package io.hudicdc.ingest.json;

import io.hudicdc.ingest.spark.Utf8;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code ingest_is_json(text)}: whether a text is one JSON value, as Python's {@code json} reads it.
 *
 * <p>Stricter in three points: the text must be UTF-8, an escaped surrogate needs its other half, and values are nested
 * at most {@link #MAX_DEPTH} deep. Jackson also accepts {@code INF}, and text behind the value.
 */
public final class JsonText {
    /** Jackson reads 1,000 levels, and the frame of a payload takes two of them. */
    static final int MAX_DEPTH = 990;

    /** Python refuses integers with more digits. */
    static final int MAX_DIGITS = 4_300;

    private static final int HEX = 16;
    private static final int HEX_DIGITS = 4;

    private final byte[] bytes;
    private final boolean[] isObject = new boolean[MAX_DEPTH];
    private int at;
    private int depth;

    private JsonText(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Validate a text. */
    public static Boolean isValid(UTF8String text) {
        byte[] bytes = text.getBytes();
        return Utf8.isValid(bytes, 0, bytes.length) && new JsonText(bytes).isValue();
    }

    /** Validate a text that must be an object. */
    public static Boolean isObject(UTF8String text) {
        byte[] bytes = text.getBytes();
        JsonText scanner = new JsonText(bytes);
        scanner.skipSpace();
        return scanner.current() == '{' && Utf8.isValid(bytes, 0, bytes.length) && scanner.isValue();
    }

    private boolean isValue() {
        do {
            skipSpace();
            boolean isEmpty = false;
            if (current() == '{' || current() == '[') {
                if (depth == MAX_DEPTH) {
                    return false;
                }
                isEmpty = open();
                if (!isEmpty && isObject[depth - 1] && !isName()) {
                    return false;
                }
                if (!isEmpty) {
                    continue;
                }
            } else if (!isScalar()) {
                return false;
            }
            if (!closeAll()) {
                return false;
            }
            if (depth == 0) {
                return at == bytes.length;
            }
        } while (true);
    }

    /** Begin an object or an array; return whether it ends at once. */
    private boolean open() {
        byte first = bytes[at++];
        skipSpace();
        if (current() == (first == '{' ? '}' : ']')) {
            at++;
            return true;
        }
        isObject[depth++] = first == '{';
        return false;
    }

    /** Behind a value: end what ends here, and pass the comma and the name before the next value. */
    private boolean closeAll() {
        skipSpace();
        while (depth > 0) {
            boolean inObject = isObject[depth - 1];
            int next = current();
            at++;
            if (next == ',') {
                skipSpace();
                return !inObject || isName();
            }
            if (next != (inObject ? '}' : ']')) {
                return false;
            }
            depth--;
            skipSpace();
        }
        return true;
    }

    private boolean isName() {
        if (current() != '"' || !isString()) {
            return false;
        }
        skipSpace();
        if (current() != ':') {
            return false;
        }
        at++;
        return true;
    }

    private boolean isScalar() {
        switch (current()) {
            case '"':
                return isString();
            case 't':
                return isWord("true");
            case 'f':
                return isWord("false");
            case 'n':
                return isWord("null");
            case 'N':
                return isWord("NaN");
            case 'I':
                return isWord("Infinity");
            default:
                return isNumber();
        }
    }

    private boolean isWord(String word) {
        for (int index = 0; index < word.length(); index++, at++) {
            if (current() != word.charAt(index)) {
                return false;
            }
        }
        return true;
    }

    private boolean isNumber() {
        if (current() == '-') {
            at++;
            if (current() == 'I') {
                return isWord("Infinity");
            }
        }
        int start = at;
        int digits = skipDigits();
        if (digits == 0 || digits > MAX_DIGITS || (digits > 1 && bytes[start] == '0')) {
            return false;
        }
        if (current() == '.') {
            at++;
            if (skipDigits() == 0) {
                return false;
            }
        }
        return (current() | ' ') != 'e' || isExponent();
    }

    private boolean isExponent() {
        at++;
        if (current() == '+' || current() == '-') {
            at++;
        }
        return skipDigits() > 0;
    }

    private int skipDigits() {
        int start = at;
        while (current() >= '0' && current() <= '9') {
            at++;
        }
        return at - start;
    }

    private boolean isString() {
        at++;
        while (at < bytes.length) {
            byte next = bytes[at];
            if (next == '"') {
                at++;
                return true;
            }
            if (next == '\\') {
                if (!isEscape()) {
                    return false;
                }
            } else if (next >= 0 && next < ' ') {
                return false;
            } else {
                at++;
            }
        }
        return false;
    }

    private boolean isEscape() {
        at++;
        if (current() != 'u') {
            return "\"\\/bfnrt".indexOf(current()) >= 0 && at++ < bytes.length;
        }
        int unit = unit();
        if (unit < 0 || Character.isLowSurrogate((char) unit)) {
            return false;
        }
        if (!Character.isHighSurrogate((char) unit)) {
            return true;
        }
        if (current() != '\\') {
            return false;
        }
        at++;
        int low = current() == 'u' ? unit() : -1;
        return low >= 0 && Character.isLowSurrogate((char) low);
    }

    /** Read the four digits behind a {@code u}; -1 for others. */
    private int unit() {
        int unit = 0;
        at++;
        for (int digit = 0; digit < HEX_DIGITS; digit++, at++) {
            int value = Character.digit(current(), HEX);
            if (value < 0) {
                return -1;
            }
            unit = unit * HEX + value;
        }
        return unit;
    }

    private void skipSpace() {
        while (current() == ' ' || current() == '\n' || current() == '\t' || current() == '\r') {
            at++;
        }
    }

    /** Return the byte at hand; 0, which no JSON has outside a string, at the end. */
    private int current() {
        return at < bytes.length ? bytes[at] : 0;
    }
}
