"""Results of commands as values, and the outputs made of them: JSON, metrics, webhooks, lineage."""
