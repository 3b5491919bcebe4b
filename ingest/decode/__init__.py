"""Payload bytes become events: each record by the schema that wrote it, in one pass, on the JVM.

Nothing is dropped here.  Every message of the range becomes one event with a `kind`: a change, something to
ignore and count, or a rejected record.  The reason is worked out afterwards, only for rejected records.
"""
