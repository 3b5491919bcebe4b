"""Table services after a commit: compaction, cleaning, archiving and rebuilds."""
