/** Reduces the messages of a batch to the newest row of each key. */
package io.hudicdc.ingest.latest;
