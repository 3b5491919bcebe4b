"""Debezium's MongoDB connector, 1.9 and later."""

from ingest.dialects.dialect import Dialect, Guard

MONGODB = Dialect(
    name="mongodb",
    title="MongoDB",
    source_records=("io.debezium.connector.mongo.Source",),
    source={},
    # Events of one transaction share their cluster time, and from 3.4 on the event no longer holds it
    # (debezium: mongodb/SourceInfo.java): a document keeps its key, so its partition, and Kafka's order is
    # the order of the oplog.
    terms=(),
    rank="'1'",
    topic_parts=(("server", "database", "table"),),
    is_document=True,
    caveats=(
        Guard(
            "the order is Kafka's: a document's events must stay in one partition, in the order of the oplog"
        ),
        Guard("a full document of an update is looked up afterwards: a later state may show early"),
    ),
    documentation="https://debezium.io/documentation/reference/stable/connectors/mongodb.html",
)
