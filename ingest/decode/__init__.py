"""Payload bytes become events: each record by the schema that wrote it, in one pass, on the JVM.

Nothing is dropped here.  Every message of the range comes out as one event with a `kind`: a change, something
to ignore and count, or a rejected record; the reason is worked out afterwards, for the rejected few alone.
"""
