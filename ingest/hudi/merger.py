"""The record merger of a commit: Spark's own where parquet-avro cannot read the table's files.

Hudi merges by Avro records.  For each array of structs parquet-avro 1.13.1 converts the type back to an
Avro schema, to compare it (`AvroRecordConverter.isElementType`).  A decimal becomes a `fixed` there, named
after its Parquet field, and the schema cannot be printed where that name occurs twice: an array of decimals
in the structs ("Can't redefine: element", as in apache/hudi#6849), decimals of one name in several structs.
The second commit to a file then fails.  Spark's merger reads the files as Spark does.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

MERGER: Final = "hoodie.write.record.merge.custom.implementation.classes"
SPARKS: Final = "org.apache.hudi.DefaultSparkRecordMerger"
_DECIMAL_IN_ARRAY: Final = re.compile(r"array<struct<.*decimal\(")


def merger_options(types: Iterable[str]) -> Mapping[str, str]:
    """Return the option that chooses the merger for columns of these types, in DDL; empty for Hudi's default.

    Spark's merger also fits arrays of structs whose decimals have names of their own: no harm.
    """
    return {MERGER: SPARKS} if any(_DECIMAL_IN_ARRAY.search(ddl) for ddl in types) else {}
