"""The Python API: one deployment, opened."""
