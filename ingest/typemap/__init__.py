"""The type table, and the conversions that it names."""
