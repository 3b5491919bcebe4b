"""Choose the tables of a run and process them in parallel."""
