"""DAGs to copy from."""
