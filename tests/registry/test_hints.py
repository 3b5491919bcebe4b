"""A misspelled subject or version comes with the nearest one."""

from pathlib import Path

import pytest

from ingest import Session
from ingest.errors import SchemaNotFoundError
from ingest.names import Subject
from ingest.registry import FolderRegistry
from ingest.run.batch.schemas import fetch_versions
from ingest.settings import RegistrySettings, Settings

RECORD = '{"type": "record", "name": "Row", "fields": [{"name": "id", "type": "int"}]}'
SUBJECTS = ("srv.dbo.customers-key", "srv.dbo.customers-value", "srv.dbo.orders-value")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a registry of two topics, one version for each subject."""
    for subject in SUBJECTS:
        (tmp_path / subject).mkdir()
        (tmp_path / subject / "v1.avsc").write_text(RECORD)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "version", "hint"),
    [
        ("srv.dbo.custmers-value", None, "Did you mean 'srv.dbo.customers-value'?"),
        ("srv.dbo.customers", None, "Did you mean 'srv.dbo.customers-value'?"),
        ("srv_dbo_orders-value", None, "Did you mean 'srv.dbo.orders-value'?"),
        ("orders", None, "Did you mean 'srv.dbo.orders-value'?"),
        ("srv.dbo.orders-value", 7, "Its versions are: 1"),
    ],
)
def test_a_missing_subject_is_suggested(folder: Path, name: str, version: int | None, hint: str) -> None:
    """`schema show` and `schema diff` name the subject or the versions that exist."""
    session = Session(Settings(registry=RegistrySettings(url=str(folder)), tables_dir=folder / "tables"))

    with pytest.raises(SchemaNotFoundError) as shown:
        session.describe(name, version)
    assert hint in str(shown.value)
    with pytest.raises(SchemaNotFoundError) as compared:
        session.compare(name, 1, version or 2)
    assert hint in str(compared.value)


def test_the_subject_of_a_table_file_is_suggested(folder: Path) -> None:
    """Without a near name the error says what else may be done."""
    registry = FolderRegistry(folder)

    with pytest.raises(SchemaNotFoundError, match=r"Did you mean 'srv\.dbo\.orders-value'"):
        fetch_versions(registry, Subject("srv.dbo.order-value"))
    with pytest.raises(SchemaNotFoundError, match="Register it, or fix the table file"):
        fetch_versions(registry, Subject("other"))


def test_the_key_is_not_suggested_in_place_of_a_value(folder: Path) -> None:
    """A subject that was deleted is not a misspelled one."""
    session = Session(Settings(registry=RegistrySettings(url=str(folder)), tables_dir=folder / "tables"))

    with pytest.raises(SchemaNotFoundError) as missing:
        session.describe("srv.dbo.orders-key")

    assert "orders-value" not in str(missing.value)
