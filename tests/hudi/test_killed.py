"""The remains of a killed creation stop no run; a damaged table is not mistaken for them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.errors import IngestError

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DDL = "id int not null, v int"


@pytest.mark.parametrize("left", [[], ["hoodie.properties"], ["hoodie.properties", ".hoodie.properties.crc"]])
def test_a_table_whose_creation_was_killed_is_created(lake: "Lake", left: list[str]) -> None:
    """Hudi creates the file of properties, then writes it: an empty one is not a table, and stops Hudi."""
    table = lake.table(f"killed{len(left)}")
    home = Path(lake.path(table)) / ".hoodie"
    (home / "timeline" / "history").mkdir(parents=True)
    for name in left:
        (home / name).touch()

    assert lake.open(table).checkpoint() is None
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))

    assert lake.rows(table, "id", "v") == [(1, 1)]


def test_empty_properties_of_a_table_with_commits_stop(lake: "Lake") -> None:
    """They are damage, and no reason to begin again."""
    table = lake.table("damaged")
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    home = Path(lake.path(table)) / ".hoodie"
    (home / ".hoodie.properties.crc").unlink(missing_ok=True)
    (home / "hoodie.properties").write_bytes(b"")

    with pytest.raises(IngestError):
        lake.open(table).checkpoint()
