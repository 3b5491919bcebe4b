"""One run: a Spark session, and the way of each table from its committed offsets to the next commit."""
