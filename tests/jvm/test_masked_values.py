"""Masks as SQL against plain Python: any text, every type that they fit."""

import hmac
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ingest.masking import Mask, salt_id_of
from ingest.spark.functions import keep_salt
from ingest.spark.java import java_rows
from ingest.sql.template import ident, sql
from ingest.sql.types import parse_ddl
from ingest.typemap.mapped import Mapped
from ingest.typemap.masks import masked

pytestmark = pytest.mark.spark

SALT = "sälz of more than sixteen"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def hashed(text: str, salt: str = SALT) -> str:
    """Return the hash of a text by Python's own HMAC."""
    return hmac.digest(salt.encode(), text.encode(), "sha256").hex()


def stored(spark: SparkSession, ddl: str, mask: Mask, values: list[Any], salt: str = SALT) -> list[Any]:
    """Return the masked values of a column, as a table holds them."""
    keep_salt(spark, salt)
    result = masked(Mapped("", "", parse_ddl(ddl), "string"), mask, salt_id_of(salt))
    assert result is not None
    rows = spark.createDataFrame([(value,) for value in values], f"`a b` {ddl}").coalesce(1)
    return [row[0] for row in rows.selectExpr(str(result.convert(ident("a b")))).collect()]


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), TEXTS), min_size=20, max_size=60))
def test_texts_are_hashed_and_cut_as_python_does(spark: SparkSession, texts: list[str | None]) -> None:
    """Hostile ones too; `last4` counts characters, and shows none of a short text."""
    assert stored(spark, "string", "hash", texts) == [None if t is None else hashed(t) for t in texts]
    short = [None if t is None else "****" + (t[-4:] if len(t) >= 8 else "") for t in texts]
    assert stored(spark, "string", "last4", texts) == short


@pytest.mark.parametrize("length", [16, 63, 64, 65, 128, 200])
def test_salts_and_texts_of_any_length_are_hashed_as_by_python(spark: SparkSession, length: int) -> None:
    """Shorter and longer than the blocks of 64 bytes that SHA-256 reads."""
    texts, salt = ["x" * count for count in (0, 1, 55, 56, 63, 64, 65, 119, 120, 1000)], "s" * length
    assert stored(spark, "string", "hash", texts, salt) == [hashed(text, salt) for text in texts]


@pytest.mark.parametrize(
    ("ddl", "value", "text"),
    [
        ("int", -7, "-7"),
        ("bigint", 2**62, str(2**62)),
        ("decimal(12,4)", Decimal("1.5000"), "1.5"),
        ("decimal(12,0)", Decimal(1200), "1200"),
        ("decimal(20,10)", Decimal("0.0000001000"), "0.0000001"),
        ("boolean", True, "true"),
        ("binary", bytearray(b"\x00\xff"), "00FF"),
    ],
    ids=str,
)
def test_a_value_is_hashed_by_its_exact_text(spark: SparkSession, ddl: str, value: Any, text: str) -> None:
    """Equal numbers have equal hashes, whatever scale a later version gives them."""
    assert stored(spark, ddl, "hash", [value, None]) == [hashed(text), None]


def test_plans_do_not_show_the_salt(spark: SparkSession) -> None:
    """Spark's pages and event logs have the text of plans."""
    keep_salt(spark, SALT)
    result = masked(Mapped("", "", parse_ddl("string"), "string"), "hash", salt_id_of(SALT))
    assert result is not None
    rows = spark.range(1).selectExpr(str(result.convert(sql("cast(id as string)"))))
    plans = java_rows(rows).queryExecution().toString()  # the text that Spark logs
    assert salt_id_of(SALT) in plans
    assert SALT not in plans
