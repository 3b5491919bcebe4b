"""Topics of several tables must keep the events of deletes."""

from ingest.errors import BrokerRefusedError, TableFileError
from ingest.kafka.retention import is_compacted
from ingest.settings import KafkaSettings
from ingest.tables import TableConfig


def refuse_compacted(kafka: KafkaSettings, table: TableConfig) -> None:
    """Raise `TableFileError` for a compacted topic of several tables.

    Kafka's cleaner may keep only the tombstone of a delete, and a tombstone does not say of which table.
    """
    compacted = is_compacted(kafka, table.topic)
    if compacted is None:
        raise BrokerRefusedError(
            kafka.bootstrap_servers,
            f"the settings of topic {table.topic} cannot be read, and whether it is compacted decides "
            f"whether table {table.name} gets all deletes",
            "Allow the login to read them (DescribeConfigs on the topic)",
        )
    if compacted:
        raise TableFileError(
            f"{table.name}.toml",
            "source_table",
            f"topic {table.topic} is compacted: it may keep only the tombstone of a delete, which does not "
            "say of which table",
            "Set cleanup.policy=delete for the topic, or give each table its own topic",
        )
