"""Checks of a deployment and its machine, each with a remedy."""
