"""Rewrite a table after a change to a setting that is fixed at creation."""
