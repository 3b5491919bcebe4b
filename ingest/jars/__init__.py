"""The pinned jars of a Spark job: checksums, the repository that has them, the folder that keeps them."""
