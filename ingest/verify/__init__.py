"""Compare a table with its source: where the data is, by checksums, then row by row where they differ."""
