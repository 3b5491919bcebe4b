"""Status of many tables: an error of one table stands in its own status."""

from collections.abc import Callable

import pytest

from ingest import Session
from ingest.errors import LakeError, TableFileError, TopicNotFoundError
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


def test_a_bad_folder_and_a_missing_topic_leave_the_other_tables_their_status(
    make_deployment: Callable[[], Deployment],
) -> None:
    """The folder of one table holds other files, the topic of another is missing; the third has its rows."""
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in ("good", "strange")}
    topics = make_topics(deployment.servers, names)
    deployment.onboard()
    topics["good"].send(Change("c", {"id": 1, "v": "a"}, at=1))
    assert deployment.run(["good"]).exit_code == 0
    copy_table(deployment, "good", "stray", topic='"nowhere.testDB.dbo.t"')
    folder = deployment.root / "lake" / "strange"
    folder.mkdir()
    (folder / "notes.txt").write_text("not a table")

    good, strange, stray = deployment.session.status()

    assert (good.table, good.rows, good.lag, good.error) == ("good", 1, 0, None)
    assert isinstance(strange.error, LakeError)
    assert isinstance(stray.error, TopicNotFoundError)


def test_a_broken_table_file_is_an_error_before_spark_starts(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A session that would have to start Spark reports the file, for every command that reads tables."""
    deployment = make_deployment()
    deployment.tables.mkdir()
    (deployment.tables / "t.toml").write_text("table = 1\n")

    steps: list[str] = []
    with Session.open(
        deployment.root / "ingest.toml", overrides={"spark.master": "no-such-master"}
    ) as session:
        for command in (
            lambda: session.status(progress=lambda _, step: steps.append(step)),
            session.plan,
            session.run,
            lambda: session.rejects("t"),
            lambda: session.history("t"),
            lambda: session.move_offsets("t", "earliest"),
        ):
            with pytest.raises(TableFileError, match=r"t\.toml"):
                command()
    assert steps == []
