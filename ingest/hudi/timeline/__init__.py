"""Commits of a table: accounts, files and damage, read with Hudi's classes or from files."""
