"""One run: a Spark session, and the way of each table from its committed offsets to the next commit.

work (tables, in their order) --> batch (messages of one table) --> table, task (from offsets to commit)
"""
