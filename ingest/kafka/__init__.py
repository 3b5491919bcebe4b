"""Which offsets a run covers, and the DataFrame of exactly those."""
