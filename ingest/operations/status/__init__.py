"""Read the state and history of tables."""
