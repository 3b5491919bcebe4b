"""Tables that begin with the rows of a live PostgreSQL, read by JDBC, equal it after later changes."""

import pytest

from ingest.adopt.request import LoadRequest
from tests.e2e.tablefiles import copy_table
from tests.live.verified import Live

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

CHANGES = """
update inv.customers set balance = balance + 1 where id % 3 = 0;
delete from inv.customers where id = (select min(id) from inv.customers);
insert into inv.order_lines (order_id, line_no, sku, qty) values (77, 1, 'after', 5);
delete from inv.order_lines where order_id = (select max(order_id) from inv.order_lines);
"""


def test_tables_loaded_by_jdbc_equal_their_source(live: Live) -> None:
    """From a position that was read before; a column without an exact text is refused by name."""
    position = live.database.run("select pg_current_wal_lsn()").strip()
    tables = ("customers", "order_lines", "steady")
    for table in (*tables, "all_types", "moments"):
        copy_table(live.deployment, table, f"{table}_loaded")
    for table in tables:
        with live.deployment.session as session:
            result = session.load(f"{table}_loaded", LoadRequest("jdbc", "live", position=position))
        assert result.error is None
    for table in ("all_types", "moments"):
        with live.deployment.session as session:
            refused = session.load(f"{table}_loaded", LoadRequest("jdbc", "live", position=position))
        assert "has no text that becomes a" in str(refused.error)

    live.database.run(CHANGES)
    names = [f"{table}_loaded" for table in tables]
    live.run(*names)
    assert {name: live.verify(name).outcome for name in names} == dict.fromkeys(names, "equal")
    for table in ("all_types", "moments", *tables):
        (live.deployment.tables / f"{table}_loaded.toml").unlink()
