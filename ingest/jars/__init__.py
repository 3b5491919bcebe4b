"""Pinned jars: checksums, repositories, the folder that keeps them, and the jars of a Spark job."""
