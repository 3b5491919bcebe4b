package io.hudicdc.ingest.json;

import java.io.IOException;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF4;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * {@code ingest_document_update(document, updated, removed, truncated)}: an event's updateDescription applied to the
 * previous document, both as Debezium writes them; null if the document is null, or if either is not a JSON object.
 *
 * <p>Names keep their order, new names come last, and untouched values keep their spelling.
 */
public final class DocumentUpdate implements UDF4<String, String, Seq<String>, Seq<Row>, String> {
    private static final long serialVersionUID = 1L;

    /**
     * The manual (reference/change-events/update) gives no order: within one event the three lists name different
     * places, as an array that is replaced whole is reported under updatedFields alone.  Only one pair can meet, an
     * array that is cut and then written beyond its new size, so arrays are cut first and values are set last.
     */
    @Override
    public String call(String document, String updated, Seq<String> removed, Seq<Row> truncated) {
        if (document == null) {
            return null;
        }
        try {
            Map<String, Object> root = Json.parseObject(document);
            Map<String, Object> values = updated == null ? Map.of() : Json.parseObject(updated);
            truncate(root, truncated);
            remove(root, removed);
            int[] padding = {DocumentPath.MAX_PADDING};
            values.forEach((path, value) -> new DocumentPath(path, padding).set(root, ExtendedJson.strict(value)));
            return Json.write(root, Json.Style.DRIVER);
        } catch (IOException | IllegalArgumentException malformed) {
            return null; // the check of the column rejects the record
        }
    }

    private static void truncate(Map<String, Object> root, Seq<Row> truncated) {
        if (truncated == null) {
            return;
        }
        for (Iterator<Row> rows = truncated.iterator(); rows.hasNext(); ) {
            Row row = rows.next();
            if (row != null && !row.isNullAt(0) && !row.isNullAt(1)) {
                new DocumentPath(row.getString(0)).truncate(root, ((Number) row.get(1)).intValue());
            }
        }
    }

    private static void remove(Map<String, Object> root, Seq<String> removed) {
        if (removed == null) {
            return;
        }
        for (Iterator<String> paths = removed.iterator(); paths.hasNext(); ) {
            String path = paths.next();
            if (path != null) {
                new DocumentPath(path).remove(root);
            }
        }
    }
}
