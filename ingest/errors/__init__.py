"""The errors of `ingest` as values: each keeps its fields and builds its text from them.

Three bases decide the exit code: `PermanentError` (1: the same run would fail again), `UserError` (2: wrong
usage or settings) and `RetryableError` (75: try again later).  A text names the place, the value found, the
values allowed and the remedy.  Fields are positional, so that errors pickle.
"""

from ingest.errors.base import DOCTOR, IngestError, PermanentError, RetryableError, UserError
from ingest.errors.jars import JarError, RepositoryUnreachableError
from ingest.errors.kafka import (
    BrokerRefusedError,
    BrokerUnreachableError,
    DecodeError,
    OffsetError,
    TopicNotFoundError,
)
from ingest.errors.lake import (
    ClockError,
    JvmZoneError,
    LakeError,
    LakeUnreachableError,
    RebuildError,
    TableChangedError,
    TableLockedError,
    TakeoverError,
    WriteError,
)
from ingest.errors.process import (
    JvmEndedError,
    JvmMemoryError,
    LocalServerError,
    SparkStartError,
    StoppedError,
    TableTimeoutError,
    UnexpectedError,
)
from ingest.errors.schemas import (
    EvolutionError,
    NoRegistryError,
    RegistryRefusedError,
    RegistryUnreachableError,
    SchemaError,
    SchemaNotFoundError,
    UnmappedTypeError,
)
from ingest.errors.source import SourceDiffersError, SourceRefusedError, SourceUnreachableError
from ingest.errors.usage import FixtureError, SettingsError, TableFileError, UsageError, joined

__all__ = [
    "DOCTOR",
    "BrokerRefusedError",
    "BrokerUnreachableError",
    "ClockError",
    "DecodeError",
    "EvolutionError",
    "FixtureError",
    "IngestError",
    "JarError",
    "JvmEndedError",
    "JvmMemoryError",
    "JvmZoneError",
    "LakeError",
    "LakeUnreachableError",
    "LocalServerError",
    "NoRegistryError",
    "OffsetError",
    "PermanentError",
    "RebuildError",
    "RegistryRefusedError",
    "RegistryUnreachableError",
    "RepositoryUnreachableError",
    "RetryableError",
    "SchemaError",
    "SchemaNotFoundError",
    "SettingsError",
    "SourceDiffersError",
    "SourceRefusedError",
    "SourceUnreachableError",
    "SparkStartError",
    "StoppedError",
    "TableChangedError",
    "TableFileError",
    "TableLockedError",
    "TableTimeoutError",
    "TakeoverError",
    "TopicNotFoundError",
    "UnexpectedError",
    "UnmappedTypeError",
    "UsageError",
    "UserError",
    "WriteError",
    "joined",
]
