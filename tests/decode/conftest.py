"""Everything here is decoded twice: by generated code, and by expressions that Spark interprets.

The first batch of a planned query is interpreted (`ingest.spark.planned_queries`).
"""

from typing import Final

import pytest
from pyspark.sql import SparkSession

from ingest.spark.session import session_of

WITHOUT_CODE: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session", params=[{}, WITHOUT_CODE], ids=["generated", "interpreted"])
def spark(outer_spark: SparkSession, request: pytest.FixtureRequest) -> SparkSession:
    """Give the session that the product works in, as it is, and one that generates no code."""
    session = session_of(outer_spark)
    for key, value in request.param.items():
        session.conf.set(key, value)
    return session
