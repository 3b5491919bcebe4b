"""A table checked by itself, by both readers."""

from contextlib import suppress
from typing import TYPE_CHECKING

from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.table import HudiTable
from ingest.operations.verify_files import FilesCheck, check_twice
from ingest.settings import LakeSettings

if TYPE_CHECKING:
    from ingest.tables import TableConfig
    from tests.hudi.conftest import Lake


def check_files(lake: "Lake", table: "TableConfig") -> FilesCheck:
    """Check a table by Hudi's classes, and hold its files to the same result where they answer."""
    path = lake.path(table)
    result = check_twice(table, path, lambda path: HudiTable(lake.spark, path))
    files = LakeFiles(LakeSettings(str(lake.root)), lake.hadoop)
    with suppress(UnclearFilesError, OSError):
        assert check_twice(table, path, files.at) == result
    return result
