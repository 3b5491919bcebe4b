package io.hudicdc.ingest.json;

import java.io.IOException;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code ingest_document_key(json)}: one text for all spellings of a MongoDB {@code _id}; null for invalid JSON. */
public final class DocumentKey implements UDF1<String, String> {
    private static final long serialVersionUID = 1L;

    @Override
    public String call(String json) {
        if (json == null) {
            return null;
        }
        try {
            return write(Json.parse(json));
        } catch (IOException | NumberFormatException | ArithmeticException malformed) {
            return null; // the check of the column rejects the record
        }
    }

    /**
     * {@code ingest_document_id(document)}: the same text of a document's {@code _id}; null without one, and for a text
     * that is not an object. Nothing behind the {@code _id} is read: MongoDB stores it first.
     *
     * <p>A number beyond Java's range, which no key holds, is given as it is written: it differs from every key.
     */
    public static UTF8String ofDocument(UTF8String document) {
        try {
            Object id = Json.member(document.getBytes(), "_id");
            return id == null ? null : UTF8String.fromString(spell(id));
        } catch (IOException malformed) {
            return null; // the check of the document rejects a text that is not an object
        }
    }

    private static String spell(Object id) {
        try {
            return write(id);
        } catch (NumberFormatException | ArithmeticException beyond) {
            return Json.write(id, Json.Style.COMPACT);
        }
    }

    private static String write(Object id) {
        return Json.write(ExtendedJson.canonical(id), Json.Style.COMPACT);
    }
}
