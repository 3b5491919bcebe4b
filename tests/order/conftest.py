"""The suite's Spark session, in a process of another zone than UTC."""

from tests.conftest_spark import outer_spark, spark

__all__ = ["outer_spark", "spark"]
