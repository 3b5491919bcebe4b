"""Give a table more buckets, and its times another type, without losing a row or an offset."""

from ingest.testing import Deployment, assert_table, nullable, time

COLUMNS = {"id": "int", "shift": nullable("string"), "begins": nullable(time("us"))}
SIX_US = 6 * 3_600 * 1_000_000  # microseconds since midnight


def set_in_file(deployment: Deployment, old: str, new: str) -> None:
    """Edit the table file, as in an editor."""
    path = deployment.tables / "shifts.toml"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_rebuild_keeps_rows_and_offsets(ingest_deployment: Deployment) -> None:
    """Buckets change from the table itself; the type of times needs the values of the topic."""
    shifts = ingest_deployment.topic("server1.testDB.dbo.shifts", COLUMNS)
    ingest_deployment.onboard(name="{table}")
    shifts.send(*(shifts.create({"id": n, "shift": f"s{n}", "begins": SIX_US + n}) for n in range(5)))
    ingest_deployment.run()

    set_in_file(ingest_deployment, "buckets = 2", "buckets = 8")
    (plan,) = ingest_deployment.plan()
    assert plan.verdict == "fail"
    assert str(plan.rebuild) == "buckets 2 -> 8, 5 rows, about 1.0 min"
    with ingest_deployment.session as session:
        assert session.rebuild("shifts").outcome == "rebuilt"

    set_in_file(ingest_deployment, 'time = "string"', 'time = "micros"')
    with ingest_deployment.session as session:
        assert "Read them from the topic" in str(session.rebuild("shifts").error)
        assert session.rebuild("shifts", "topic").outcome == "rebuilt"

    shifts.send(shifts.delete({"id": 4, "shift": "s4", "begins": SIX_US + 4}))
    (outcome,) = ingest_deployment.run().tables
    assert outcome.counts.read == 2  # the delete and its tombstone: nothing is read again
    assert_table(
        ingest_deployment.frame("shifts"),
        [{"id": n, "shift": f"s{n}", "begins": SIX_US + n} for n in range(4)],
        key=["id"],
    )
