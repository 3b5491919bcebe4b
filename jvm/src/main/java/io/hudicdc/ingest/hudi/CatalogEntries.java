package io.hudicdc.ingest.hudi;

import java.net.URI;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/** Entries of Spark's catalog for Hudi tables that exist at a path. */
public final class CatalogEntries {
    private static final long NEVER = -1;

    private CatalogEntries() {}

    /** Return the entry of an external table that Hudi's data source reads. */
    public static CatalogTable of(String database, String table, URI location, StructType columns) {
        CatalogStorageFormat storage = new CatalogStorageFormat(
                new Some<>(location), Option.empty(), Option.empty(), Option.empty(), false, noProperties());
        return new CatalogTable(
                new TableIdentifier(table, new Some<>(database)),
                CatalogTableType.EXTERNAL(),
                storage,
                columns,
                new Some<>("hudi"),
                none(), // partition columns: Hudi's own file index knows them
                Option.empty(),
                CatalogTable.apply$default$8(),
                System.currentTimeMillis(),
                NEVER,
                "",
                noProperties(),
                Option.empty(),
                Option.empty(),
                Option.empty(),
                none(),
                false,
                true,
                noProperties(),
                Option.empty());
    }

    /** Return columns as an entry has them: nullable, without comments. */
    public static StructType columns(StructType table) {
        return new StructType(Arrays.stream(table.fields())
                .map(field -> new StructField(field.name(), field.dataType(), true, Metadata.empty()))
                .toArray(StructField[]::new));
    }

    private static Map<String, String> noProperties() {
        return Map$.MODULE$.empty();
    }

    @SuppressWarnings("unchecked")
    private static Seq<String> none() {
        return (Seq<String>) (Seq<?>) Nil$.MODULE$;
    }
}
