/** JSON whose numbers keep their text, and MongoDB's Extended JSON. */
package io.hudicdc.ingest.json;
