package io.hudicdc.ingest.json;

import java.io.IOException;
import org.apache.spark.sql.api.java.UDF2;

/**
 * {@code ingest_json_member(json, name)}: the JSON of an object's member; null where it is null, or there is none.
 *
 * <p>Spark 3.5's {@code get_json_object} writes fractions as doubles, so that decimals lose digits (SPARK-48148).
 */
public final class JsonMember implements UDF2<String, String, String> {
    private static final long serialVersionUID = 1L;

    @Override
    public String call(String json, String name) {
        if (json == null) {
            return null;
        }
        try {
            Object member = Json.parseObject(json).get(name);
            return member == null ? null : Json.write(member, Json.Style.COMPACT);
        } catch (IOException malformed) {
            return null; // the caller tests for it
        }
    }
}
