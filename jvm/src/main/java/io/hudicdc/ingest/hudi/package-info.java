/** Reads and writes Hudi tables by Hudi's own classes, in few calls from Python. */
package io.hudicdc.ingest.hudi;
