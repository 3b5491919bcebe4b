"""Commands for a topic of one table refuse one that is a part of its topic."""

import pytest

from ingest.errors import UsageError
from ingest.names import Subject, Topic
from ingest.operations.versions import value_subject
from ingest.run.work.topics import refuse_several
from ingest.tables import Key, Subjects, TableConfig

ORDERS = TableConfig(
    name="orders",
    topic=Topic("shop"),
    source_table="server1.inv.orders",
    dialect="postgres",
    subjects=Subjects(value=Subject("shop-value")),
    key=Key(("id",)),
)


def test_a_command_for_a_whole_topic_refuses_a_table_in_it() -> None:
    """It would take the changes of all tables for those of one."""
    with pytest.raises(UsageError, match="table orders is one of several in topic shop, and `ingest verify`"):
        refuse_several(ORDERS, "ingest verify")


def test_a_subject_of_several_tables_has_no_history_of_one() -> None:
    """Its versions are those of all tables."""
    with pytest.raises(UsageError, match="one of several in topic shop, with one subject for all"):
        value_subject(ORDERS)
