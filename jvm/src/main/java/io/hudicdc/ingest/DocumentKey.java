package io.hudicdc.ingest;

import java.io.IOException;
import org.apache.spark.sql.api.java.UDF1;

/** {@code ingest_document_key(json)}: one text for all spellings of a MongoDB {@code _id}; null for invalid JSON. */
public final class DocumentKey implements UDF1<String, String> {
    private static final long serialVersionUID = 1L;

    @Override
    public String call(String json) {
        if (json == null) {
            return null;
        }
        try {
            return Json.write(ExtendedJson.canonical(Json.parse(json)), Json.Style.COMPACT);
        } catch (IOException | NumberFormatException malformed) {
            return null; // the check of the column rejects the record
        }
    }
}
