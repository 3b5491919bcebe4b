"""The jars of a Spark job, under the name that scripts of users import."""

from ingest.jars.artifacts import spark_jars

__all__ = ["spark_jars"]
