"""Live databases over JDBC, for `verify` and `load`."""
