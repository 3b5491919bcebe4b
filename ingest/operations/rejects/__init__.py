"""List, replay and purge the rejected records of a table."""
