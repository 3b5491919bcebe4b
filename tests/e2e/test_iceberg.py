"""A table that is an Iceberg table too, from onboarding on: new types, a catalog that is away, a check."""

from collections.abc import Callable

import pytest

from ingest.errors import IcebergError, IcebergUnreachableError
from ingest.hudi.lake_files import LakeFiles
from ingest.iceberg.tables import IcebergTables
from ingest.spark.hadoop_settings import LOCAL
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import add_catalog
from tests.e2e.test_rebuild import edit, rebuild

pytestmark = [pytest.mark.spark, pytest.mark.servers]

WHOLE = {"id": "int", "v": nullable("int")}
BROKEN = {"id": "int", "v": nullable("double")}


def iceberg_rows(deployment: Deployment) -> list[tuple[int, float]]:
    """Read the Iceberg table by pyiceberg."""
    with deployment.session as session:
        files = LakeFiles(session.settings.lake, LOCAL)
        present = IcebergTables(session.settings.iceberg, files, lambda: session.spark).load(
            session.table("t")
        )
    assert present is not None
    return sorted((row["id"], row["v"]) for row in present.scan().to_arrow().to_pylist())


def test_a_table_stays_an_iceberg_table_through_new_types_and_a_catalog_that_is_away(
    make_deployment: Callable[[], Deployment],
) -> None:
    """All rows are there after the rebuild that the error names, and older ones until then."""
    deployment = make_deployment()
    catalog = add_catalog(deployment.root)
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": WHOLE})
    deployment.onboard()
    edit(deployment, "t", also='["iceberg"]')
    topics["t"].send(*(Change("c", {"id": key, "v": key}, at=key) for key in range(1, 9)))
    assert deployment.run().exit_code == 0
    before = iceberg_rows(deployment)
    assert before == [(key, key) for key in range(1, 9)]

    topics["t"].version(BROKEN)
    topics["t"].send(Change("u", {"id": 1, "v": 0.5}, at=20))
    for _ in range(2):  # the second run has no new message
        (refused,) = deployment.run().tables
        assert isinstance(refused.error, IcebergError), refused.error
        assert "v: int -> double. `ingest rebuild t` writes all files again" in str(refused.error)
    assert iceberg_rows(deployment) == before
    with deployment.session as session:
        (found, *_) = session.verify_files(["t"])[0].findings
    assert str(found).startswith("iceberg: Iceberg table: it has commit ")
    assert rebuild(deployment, "t").outcome == "rebuilt"
    assert rebuild(deployment, "t").outcome == "idle"
    rows = [(1, 0.5), *((key, float(key)) for key in range(2, 9))]
    assert iceberg_rows(deployment) == rows

    topics["t"].send(Change("d", {"id": 2, "v": 2.0}, at=30))
    away = catalog.rename(deployment.root / "away")
    (waiting,) = deployment.run().tables
    assert isinstance(waiting.error, IcebergUnreachableError), waiting.error
    away.rename(catalog)
    assert iceberg_rows(deployment) == rows
    assert deployment.run().exit_code == 0
    assert iceberg_rows(deployment) == [rows[0], *rows[2:]]
    with deployment.session as session:
        assert session.verify_files(["t"])[0].outcome == "sound"
