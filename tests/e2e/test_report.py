"""Pages and history of tables that need Spark, and the queries of a state, run as they are printed."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import allow_rejects
from tests.operations.pages.html import Parsed

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


def test_spark_fills_the_gaps_and_past_states_are_queried_as_printed(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A table on read with log files and a reject; its first state has other rows than its last."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.report": COLUMNS})
    deployment.onboard(type="mor")
    allow_rejects(deployment)
    topic = topics["report"]
    topic.send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(5)))
    assert deployment.run().exit_code == 0
    between = datetime.now(UTC)
    topic.send(Change("d", {"id": 0, "v": "a"}, at=9), Change("u", {"id": 1, "v": "b"}, at=10))
    topic.produce([(None, b"\7")])
    assert deployment.run().exit_code == 0

    with deployment.session as session:
        files = session.report_html(deployment.root / "files").tables[0]
        spark = session.report_html(deployment.root / "spark", with_spark=True).tables[0]
        history = session.commits("report")
        state, last = session.state_at("report", between), session.state_at("report", datetime.now(UTC))
    assert (files.status.rows, files.rejects and files.rejects.open, files.commits) == (
        None,
        None,
        history.commits,
    )
    assert (spark.status.rows, spark.status.lag, spark.commits) == (4, 0, history.commits)
    assert spark.rejects
    assert spark.rejects.open == 1
    assert files.rejects
    assert files.rejects.stored == 1
    text = Parsed((deployment.root / "spark" / "table" / "report.html").read_text()).all("main")[0].text
    (reason,) = spark.rejects.reasons
    assert reason in text
    assert spark.rejects.examples[reason][0].error in text
    assert all(commit.stored.read_seconds for commit in history.commits)

    assert (state.rows, last.rows) == (5, 4)
    sql = deployment.spark.sql
    sql(state.create_sql)
    try:
        assert sql(state.sql).count() == 5
        assert sql(last.sql).count() == 4
    finally:
        sql("DROP TABLE report")
    frame: Any = eval(state.python, {"spark": deployment.spark})  # noqa: S307  the printed text
    assert frame.count() == 5
