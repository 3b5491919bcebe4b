"""The checks of `ingest doctor`: each finds the state of one part of a deployment, without changing it."""
