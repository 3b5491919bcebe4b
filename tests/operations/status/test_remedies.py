"""The command that a warning of a table leads to."""

import attrs
import pytest

from ingest.names import Topic
from ingest.operations.status.advice import advise, advise_index, not_shown
from ingest.operations.status.overview import TableOverview
from ingest.operations.status.remedies import Remedy, remedies
from ingest.operations.status.status import TableStatus
from ingest.tables import Target
from tests.operations.status.test_advice import MUCH, SCHEMA, table_of

WRITTEN = attrs.evolve(MUCH, values=MUCH.values | {"schema": SCHEMA})
READER = not_shown(table_of(Target(readers=("trino",))), (WRITTEN,))


@pytest.mark.parametrize(
    ("warning", "command"),
    [
        (advise(table_of(Target()), 10**9, ()), "ingest rebuild orders --dry-run"),
        (advise_index(table_of(Target(index="global_simple")), lambda: 10**9), "ingest show orders"),
        ("; ".join(READER), "ingest show orders"),
    ],
    ids=["buckets", "index", "reader"],
)
def test_a_warning_leads_to_the_command_that_shows_more(warning: str, command: str) -> None:
    """A rebuild, or the table file."""
    assert warning
    status = TableStatus("orders", Topic("t"), "/lake/orders", warning=warning)
    assert remedies(TableOverview(status, table_of(Target()))) == (Remedy(f"{warning}.", (command,)),)
