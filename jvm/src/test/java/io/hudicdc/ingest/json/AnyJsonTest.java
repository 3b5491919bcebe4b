package io.hudicdc.ingest.json;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;

import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** No JSON of a message fails a function: a task that fails takes all other messages of its table with it. */
class AnyJsonTest {
    private static final int TEXTS = 50_000;
    private static final int DEPTH = 4;
    private static final String[] NAMES = {
        "a",
        "b",
        "a.b",
        "",
        "0",
        "_id",
        "$oid",
        "$date",
        "$numberInt",
        "$numberLong",
        "$numberDouble",
        "$numberDecimal",
        "$binary",
        "$type",
        "$uuid",
        "$regularExpression",
        "$regex",
        "$options",
        "$timestamp",
        "$symbol",
        "$undefined",
        "$minKey",
        "base64",
        "subType",
        "pattern",
        "options",
        "t"
    };
    private static final String[] SCALARS = {
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "0",
        "-0",
        "-0.0",
        "1",
        "-7",
        "1.50",
        "1e400",
        "9223372036854775808",
        "123456789012345678901234567890.12",
        "1e1000000000",
        "1e-1000000000",
        "1e2147483647",
        "1000e2147483647",
        "1e-2147483647",
        "0.001e-2147483646",
        "1e99999999999",
        "0e2147483647",
        "\"\"",
        "\"x\"",
        "\"4\"",
        "\"04\"",
        "\"-1\"",
        "\"1e5\"",
        "\"NaN\"",
        "\"1000e2147483647\"",
        "\"0.001e-2147483646\"",
        "\"MTI=\"",
        "\"2024-02-30T00:00:00Z\"",
        "\"+999999999-12-31T23:59:59Z\"",
        "9223372036854775807",
        "\"12345678-1234-5678-1234-567812345678\"",
        "\"\\ud83e\"",
        "\"a.b.0\"",
        "\"65F0C0DE00000000000003E8\""
    };
    private static final String[] PATHS = {"$", "$.a", "$['a.b']", "$.a[0].b", "$._id"};

    private final Random dice = new Random(1);

    @Test
    void noTextFailsAFunction() {
        for (int count = 0; count < TEXTS; count++) {
            String text = value(DEPTH);
            String other = value(DEPTH);
            String scales = scales(DEPTH);
            assertDoesNotThrow(() -> callAll(text, other, scales), () -> text + " and " + other + " by " + scales);
        }
    }

    private void callAll(String text, String other, String scales) {
        UTF8String octets = UTF8String.fromString(text);
        new NumericDecimals().call(text, scales);
        new JsonMember().call(text, one(NAMES));
        new DocumentKey().call(text);
        DocumentKey.ofDocument(octets);
        DocumentText.comparable(octets);
        JsonText.isValid(octets);
        JsonText.isObject(octets);
        new DocumentValue().call(text, one(PATHS));
        Row cut = RowFactory.create(one(NAMES), dice.nextInt(4) - 1);
        new DocumentUpdate().call(text, other, sequence(one(NAMES)), sequence(cut));
    }

    private static <T> Seq<T> sequence(T element) {
        return JavaConverters.asScalaBuffer(List.of(element)).toSeq();
    }

    private String value(int depth) {
        switch (depth == 0 ? 0 : dice.nextInt(4)) {
            case 0:
                return one(SCALARS);
            case 1:
                return array(depth);
            default:
                return object(depth);
        }
    }

    private String array(int depth) {
        StringBuilder out = new StringBuilder("[");
        for (int size = dice.nextInt(3); size > 0; size--) {
            out.append(value(depth - 1)).append(size > 1 ? "," : "");
        }
        return out.append(']').toString();
    }

    private String object(int depth) {
        StringBuilder out = new StringBuilder("{");
        for (int size = dice.nextInt(3); size > 0; size--) {
            out.append('"')
                    .append(one(NAMES))
                    .append("\":")
                    .append(value(depth - 1))
                    .append(size > 1 ? "," : "");
        }
        return out.append('}').toString();
    }

    /** Write a tree of scales as {@link NumericDecimals} takes it. */
    private String scales(int depth) {
        switch (depth == 0 ? 0 : dice.nextInt(4)) {
            case 0:
                return Integer.toString(dice.nextInt(40));
            case 1:
                return "[" + scales(depth - 1) + "]";
            case 2:
                return "[null," + scales(depth - 1) + "]";
            default:
                return "{\"a\":" + scales(depth - 1) + ",\"0\":" + scales(depth - 1) + "}";
        }
    }

    private String one(String... values) {
        return values[dice.nextInt(values.length)];
    }
}
