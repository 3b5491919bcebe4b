"""The pieces of settings and table files: TOML, conversion to attrs values, rules, and how problems read."""
