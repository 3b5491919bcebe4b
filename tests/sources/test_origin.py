"""The source of a topic, among those of the settings."""

import pytest

from ingest.errors import SourceRefusedError, UsageError
from ingest.settings import SourceSettings
from ingest.sources.origin import Origin, check_database, choose_source, database_of

ORIGIN = Origin("postgres", "shop", "orders", "public", "items")
SHOP = SourceSettings("jdbc:postgresql://a:5432/orders")


def test_the_source_is_that_of_the_origins_database() -> None:
    """By kind and database, and by the connector's prefix where several fit."""
    others = {"m": SourceSettings("jdbc:mysql://a/orders"), "p": SourceSettings("jdbc:postgresql://a/other")}
    assert choose_source(ORIGIN, {"shop": SHOP, **others}, "t") == "shop"
    two = {"one": SourceSettings(SHOP.url, prefix="shop"), "two": SourceSettings(SHOP.url, prefix="crm")}
    assert choose_source(ORIGIN, two, "t") == "one"


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        ({}, "the settings have no source"),
        ({"x": SourceSettings("jdbc:postgresql://a/other")}, "comes from orders.public.items"),
        ({"x": SourceSettings("jdbc:mysql://a/orders")}, "x: jdbc:mysql://a/orders"),
        ({"x": SHOP, "y": SHOP}, 'prefix = "shop"'),
    ],
)
def test_no_source_or_several_are_an_error(sources: dict[str, SourceSettings], text: str) -> None:
    """It names what the topic says, and what the settings have."""
    with pytest.raises(UsageError, match="table t") as error:
        choose_source(ORIGIN, sources, "t")
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("jdbc:postgresql://h:5432/my%20db?sslmode=require", "my db"),
        ("jdbc:postgresql://h/", ""),
        ("jdbc:mysql://h:3306/inv?x=1", "inv"),
        ("jdbc:sqlserver://h:1433;databaseName=testDB;encrypt=true", "testDB"),
        ("jdbc:sqlserver://h", ""),
    ],
)
def test_the_database_is_in_the_url(url: str, database: str) -> None:
    """As each driver has it."""
    assert database_of(url) == database


def test_another_database_that_answers_is_refused() -> None:
    """A URL without a database leads to the user's own."""
    check_database(ORIGIN, "shop", "orders")
    with pytest.raises(SourceRefusedError, match="its database is postgres"):
        check_database(ORIGIN, "shop", "postgres")
