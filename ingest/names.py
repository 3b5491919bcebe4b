"""The small names that travel between rooms, so that no bare string or number does."""

from typing import NewType

Topic = NewType("Topic", str)
"""A Kafka topic."""

Subject = NewType("Subject", str)
"""A registry subject, such as `server1.dbo.customers-value`."""

SchemaId = NewType("SchemaId", int)
"""The registry's id of a schema: the four bytes behind the magic byte of a payload."""

Partition = NewType("Partition", int)
"""A partition of a topic."""

Instant = NewType("Instant", str)
"""A Hudi commit: the requested time of its instant, as `yyyyMMddHHmmssSSS`."""
