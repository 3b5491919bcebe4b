"""AWS Glue's schema registry, from recorded answers: `aws glue get-schema-version` writes such a file.

Nothing here calls AWS: Glue's API needs signed requests, and a bounded job reads schemas that seldom change.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from ingest.errors import SchemaError
from ingest.names import SchemaId, Subject
from ingest.registry.subject import FrameId, Registered

_MAX_ID = 2**31 - 1


def read_answer(file: Path, version: int) -> Registered:
    """Read a recorded answer of GetSchemaVersion.  The folder names the subject.

    Glue has no numbers for schemas, so the id is made of the UUID's first 31 bits, the same in every run.
    Raises `SchemaError`.
    """
    try:
        answer = json.loads(file.read_text(encoding="utf-8"))
        format_name, uuid = _text(answer, "DataFormat"), UUID(_text(answer, "SchemaVersionId"))
        text = _text(answer, "SchemaDefinition")
    except (ValueError, KeyError, TypeError) as error:
        problem = f"is not an answer of GetSchemaVersion: {error!r}"
        todo = "Write it with: aws glue get-schema-version --schema-version-id UUID"
        raise SchemaError(str(file), "$", problem, todo) from None
    if format_name != "AVRO":
        raise SchemaError(str(file), "DataFormat", f"found {format_name}, allowed: AVRO")
    schema_id = SchemaId(uuid.int >> 96 & _MAX_ID)
    frame_ids = (FrameId("schemaVersionId", str(uuid)),)
    return Registered(Subject(file.parent.name), version, schema_id, text, frame_ids=frame_ids)


def _text(answer: Mapping[str, Any], key: str) -> str:
    value = answer[key]
    if not isinstance(value, str):
        raise TypeError(key)
    return value
