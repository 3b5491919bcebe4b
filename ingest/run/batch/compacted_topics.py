"""Topics of several tables must keep the events of deletes."""

from ingest.errors import BrokerRefusedError, TableFileError
from ingest.kafka.topics import is_compacted
from ingest.names import Topic
from ingest.settings import KafkaSettings


def refuse_compacted(kafka: KafkaSettings, topic: Topic, path: str) -> None:
    """Raise `TableFileError` for a compacted topic of several tables, in the name of a table file.

    Kafka's cleaner may keep only the tombstone of a delete, and a tombstone does not say of which table.
    """
    compacted = is_compacted(kafka, topic)
    if compacted is None:
        raise BrokerRefusedError(
            kafka.bootstrap_servers,
            f"the settings of topic {topic} cannot be read, and whether it is compacted decides "
            "whether its tables get all deletes",
            "Allow the login to read them (DescribeConfigs on the topic)",
        )
    if compacted:
        raise TableFileError(
            path,
            "source_table",
            f"topic {topic} is compacted: it may keep only the tombstone of a delete, which does not "
            "say of which table",
            "Set cleanup.policy=delete for the topic, or give each table its own topic",
        )
