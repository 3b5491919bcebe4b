"""Spark SQL as values: quoted templates, types and names."""
