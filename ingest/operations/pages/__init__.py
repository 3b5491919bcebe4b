"""Static pages of a deployment's tables: `index.html`, and a page per table; no script, no network."""
