/** Extends Spark and its JVM. The other packages may use this one; it uses none of them. */
package io.hudicdc.ingest.spark;
