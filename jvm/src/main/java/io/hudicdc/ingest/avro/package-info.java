/** Decodes Avro records into Spark's rows. */
package io.hudicdc.ingest.avro;
