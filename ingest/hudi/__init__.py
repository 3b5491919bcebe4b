"""The sink: one Hudi commit per batch, with the rows, the deletes and the offsets that they came from."""
