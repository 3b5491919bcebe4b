/** Converts timestamps and times of day. */
package io.hudicdc.ingest.time;
