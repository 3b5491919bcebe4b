"""Status of many tables: an error of one table is in its own status."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from ingest import Session
from ingest.errors import LakeError, TableFileError, TopicNotFoundError
from ingest.hudi.storage.folder import RESTORE
from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM, Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import copy_table
from tests.e2e.test_jvm_ended import ended, start
from tests.hudi.conftest import timeline_of
from tests.hudi.timeline.test_damage import clear_timeline, garble, halve, newest

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


def test_a_typo_in_one_table_file_stops_only_its_table(make_deployment: Callable[[], Deployment]) -> None:
    """The others run, and are shown; the exit code tells of the file at the end."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.good": COLUMNS})
    deployment.onboard()
    topics["good"].send(Change("c", {"id": 1, "v": "a"}, at=1))
    (deployment.tables / "typo.toml").write_text("table = 1\ncolour = 1\n")

    report = deployment.run()
    good, typo = deployment.session.status()

    assert [(table.table, table.outcome) for table in report.tables] == [
        ("good", "committed"), ("typo", "failed"),
    ]  # fmt: skip
    assert (report.outcome, report.exit_code) == ("failed", 2)
    assert (good.table, good.rows, good.error) == ("good", 1, None)
    assert "typo.toml:2: colour: unknown key" in str(typo.error)


def test_a_broken_table_file_is_an_error_before_spark_starts(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A session that would have to start Spark reports the file, for every command that reads tables.

    Commands of several tables report it as the result of its table, others raise it.
    """
    deployment = make_deployment()
    deployment.tables.mkdir()
    (deployment.tables / "t.toml").write_text("table = 1\n")

    commands_of_several: dict[str, Callable[[Session], Sequence[object]]] = {
        "status": lambda session: session.status(),
        "plan": lambda session: session.plan(),
        "run": lambda session: session.run().tables,
        "maintain": lambda session: session.maintain().tables,
        "verify": lambda session: session.verify().tables,
        "verify_files": lambda session: session.verify_files(),
    }
    with Session.open(
        deployment.root / "ingest.toml", overrides={"spark.master": "no-such-master"}
    ) as session:
        for several in commands_of_several.values():
            (result,) = several(session)
            assert (result.table, result.error.exit_code) == ("t", 2)  # type: ignore[attr-defined]
            assert "t.toml" in str(result.error)  # type: ignore[attr-defined]
        for command in (
            lambda: session.rejects("t"),
            lambda: session.history("t"),
            lambda: session.move_offsets("t", "earliest"),
        ):
            with pytest.raises(TableFileError, match=r"t\.toml"):
                command()


DAMAGES: Final[dict[str, Callable[[Path], None]]] = {
    "commit_garbled": lambda home: garble(newest(timeline_of(home), "*.commit")),
    "file_cut": lambda home: halve(newest(home, "*.parquet")),
    "file_gone": lambda home: newest(home, "*.parquet").unlink(),
    "properties_garbled": lambda home: garble(home / ".hoodie" / "hoodie.properties"),
    "properties_gone": lambda home: (home / ".hoodie" / "hoodie.properties").unlink(),
    "timeline_cleared": clear_timeline,
    "timeline_gone": lambda home: shutil.rmtree(timeline_of(home)),
}


def test_damaged_folders_leave_the_other_tables_their_lines(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Each damage is in its own line, as JSON too; the exit code says that a retry does not help."""
    deployment = make_deployment()
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(LIGHT_JVM)
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.good": COLUMNS})
    topics["good"].send(Change("c", {"id": 1, "v": "a"}, at=1))
    deployment.onboard()
    for name in DAMAGES:
        copy_table(deployment, "good", name)
    assert deployment.run().exit_code == 0
    for name, damage in DAMAGES.items():
        damage(deployment.root / "lake" / name)

    code, out, err = ended(start(deployment, "status", "--json"))

    statuses = {status["table"]: status for status in json.loads(out)}
    assert code == 1, err
    assert (statuses["good"]["rows"], statuses["good"]["error"]) == (1, None)
    assert {name for name, status in statuses.items() if status["error"]} == set(DAMAGES)
    errors = {name: statuses[name]["error"] for name in DAMAGES}
    assert all(f"lake/{name}: " in errors[name] for name in DAMAGES), errors
    assert {name for name in DAMAGES if RESTORE not in errors[name]} == {"properties_gone"}, errors
    code, out, err = ended(start(deployment, "status"))
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert code == 1
    assert {"good", *DAMAGES} <= set(lines)
    assert all(f"lake/{name}: " in err for name in DAMAGES)
