"""Static pages of a deployment's tables: `index.html`, and a page per table, without scripts or network."""
