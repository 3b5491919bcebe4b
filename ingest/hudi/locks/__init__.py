"""Locks that give a table one writer, on local disks, in Hadoop's file systems and in S3."""
