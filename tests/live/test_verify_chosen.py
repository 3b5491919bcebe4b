"""`ingest verify` over a table of chosen rows and columns, which was rebuilt from its topic."""

from collections.abc import Iterator

import pytest
from pyspark.sql import functions as F

from ingest.errors import UsageError
from tests.live.verified import Live

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

CHOSEN = """
[rows]
where = "country = 'NO'"
source_where = "country = 'NO'"

[columns.email]
mask = "redact"

[columns.whole]
sql = "concat_ws(' ', first, last)"
"""


@pytest.fixture(scope="module")
def chosen(live: Live) -> Iterator[Live]:
    """Choose rows and columns of a table that exists, and write it again."""
    path = live.deployment.tables / "chosen.toml"
    text = path.read_text()
    path.write_text(text + CHOSEN)
    with live.deployment.session as session:
        rebuilt = session.rebuild("chosen", "topic")
    assert rebuilt.error is None, rebuilt.error
    yield live
    path.unlink()


def test_the_chosen_rows_are_compared_with_those_of_the_source(chosen: Live) -> None:
    """Masked and computed columns are named, not passed over."""
    answer = chosen.verify("chosen")
    assert (answer.error, answer.outcome) == (None, "equal")
    assert answer.source_rows == answer.table_rows == 20
    assert dict(answer.uncompared) == {
        "email": "holds masked values (mask redact)", "whole": "is computed by the table file",
    }  # fmt: skip
    assert chosen.verify("chosen", mode="counts").source_rows == 20


def test_rows_that_enter_and_leave_are_followed(chosen: Live) -> None:
    """A fault among the rows of the condition is found; the others are not in question."""
    chosen.database.run(
        "update inv.chosen set country = 'SE' where id = 2; update inv.chosen set country = 'NO' where id < 6"
    )
    chosen.run("chosen")
    answer = chosen.verify("chosen")
    assert (answer.outcome, answer.source_rows) == ("equal", 23)
    chosen.plant("chosen", lambda rows: rows.withColumn("first", F.expr("if(id = 3, 'f', first)")))
    assert dict(chosen.verify("chosen").columns) == {"first": 1}
    chosen.plant("chosen", lambda rows: rows.withColumn("first", F.expr("if(id = 3, 'f 3', first)")))
    assert chosen.verify("chosen").outcome == "equal"


def test_a_condition_that_the_source_does_not_know_is_refused(chosen: Live) -> None:
    """Without it, each row that the table leaves out would be accused."""
    path = chosen.deployment.tables / "chosen.toml"
    text = path.read_text()
    path.write_text(text.replace("source_where = \"country = 'NO'\"\n", ""))
    refused = chosen.verify("chosen")
    given = chosen.verify("chosen", where="country = 'NO'")
    path.write_text(text)
    assert isinstance(refused.error, UsageError)
    assert "source_where" in str(refused.error)
    assert given.outcome == "equal"
