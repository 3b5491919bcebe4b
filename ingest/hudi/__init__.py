"""The sink: one Hudi commit a batch, with the rows, the deletes and the offsets that they came from."""
