"""The errors of a failed write."""

from ingest.errors import IngestError, LakeUnreachableError, TableLockedError, WriteError
from ingest.hudi.java_errors import LOCKED, class_names, has_no_room, is_unreachable, root_cause


def write_failure(name: str, path: str, error: Exception) -> IngestError:
    """Tell a temporary failure from a permanent one by the classes in its chain."""
    names, problem = class_names(error), root_cause(error)
    if names & LOCKED:
        return TableLockedError(name, problem)
    if is_unreachable(error):
        return LakeUnreachableError(path, problem)
    if has_no_room(error):
        return LakeUnreachableError(path, f"{problem}. Nothing was committed: free some space, and run again")
    return WriteError(name, problem)
