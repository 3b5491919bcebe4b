"""Compare a table with its live source, by checksums first, and row by row only if the checksums differ."""
