/** Canonical texts of values, and checksums of rows, as databases compute them. */
package io.hudicdc.ingest.checksum;
