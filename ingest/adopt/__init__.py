"""Tables that begin with rows from elsewhere: a Hudi table of another writer, or an export of the source."""
