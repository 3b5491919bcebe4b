"""The Spark session, and the only code that touches py4j."""
