"""The folder of a table at a Hadoop path, as far as it is read without a JVM."""

from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.storage.local_files import local_folder
from ingest.hudi.storage.s3_files import S3Folder
from ingest.hudi.storage.s3_settings import s3_location
from ingest.spark.hadoop_settings import HadoopSettings


def open_folder(path: str, hadoop: HadoopSettings) -> TableFolder:
    """Open the folder of a table, which may not exist.  Raises UnclearFilesError for other storage."""
    local = local_folder(path, hadoop.default_fs)
    if local is not None:
        return local
    location = s3_location(path, hadoop)
    if location is None:
        raise UnclearFilesError(f"{path} is neither on a local disk nor in S3 with certain settings")
    return S3Folder(*location)
