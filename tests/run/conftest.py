"""The suite's Spark session."""

from tests.conftest_spark import outer_spark, spark

__all__ = ["outer_spark", "spark"]
