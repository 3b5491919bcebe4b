/** The parts of a source position: numbers from the fields of an event, and their text. */
package io.hudicdc.ingest.position;
