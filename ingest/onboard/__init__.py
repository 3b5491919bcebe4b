"""Topics become table files."""
