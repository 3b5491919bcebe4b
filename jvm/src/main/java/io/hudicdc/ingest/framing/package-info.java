/** Finds the schema that the bytes or headers of a message name. */
package io.hudicdc.ingest.framing;
