"""Files of a lake, read and exchanged on local disks, in S3 and through Hadoop."""
