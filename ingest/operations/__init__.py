"""What a person asks of tables apart from a run."""
