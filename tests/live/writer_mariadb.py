"""The statements of somebody who writes to MariaDB all the time (see `tests.live.writer`).

The module defines those that MariaDB's SQL spells otherwise, or that its tables need.
"""

import random

from tests.live.writer import NAMES, Statement, drop_customer, drop_lines, drop_wide, pay, put_nopk


def put_customer(chance: random.Random) -> str:
    """Insert a row, or change all of it."""
    return (
        "insert into inv.customers (id, first_name, nick, age, balance, active, touched) values "
        f"({chance.randint(1, 90)}, '{chance.choice(NAMES)}', '{chance.choice(('né', '', ' x '))}', "
        f"{chance.randint(-9, 99)}, {chance.randint(-(10**11), 10**11) / 100:.2f}, {chance.randint(0, 1)}, "
        "now(3)) on duplicate key update first_name = values(first_name), nick = values(nick), "
        "balance = values(balance), version = version + 1"
    )


def rename_customer(chance: random.Random) -> str:
    """Give a row another key, unless another row has it."""
    old, new = chance.sample(range(1, 91), 2)
    return f"update ignore inv.customers set id = {new} where id = {old}"


def replace_customer(chance: random.Random) -> str:
    """Delete a row and insert its key again, in one statement: an update or two events."""
    return (
        "replace into inv.customers (id, first_name, balance) "
        f"values ({chance.randint(1, 90)}, 'again', {chance.randint(1, 99)})"
    )


def swap_lines(chance: random.Random) -> str:
    """Let two keys change places by a third."""
    order = chance.randint(0, 15)
    at = f"update ignore inv.order_lines set line_no = %s where order_id = {order} and line_no = %s"
    return "; ".join(at % pair for pair in ((-1, 1), (1, 2), (2, -1)))


def put_line(chance: random.Random) -> str:
    """Insert a row, or change some of it."""
    return (
        "insert into inv.order_lines (order_id, line_no, sku, qty, price) values "
        f"({chance.randint(0, 20)}, {chance.randint(0, 3)}, 'sku', {chance.randint(-5, 5)}, "
        f"{chance.randint(-(10**11), 10**11)} / 1e6) on duplicate key update qty = values(qty), "
        "note = 'again'"
    )


def shift_lines(chance: random.Random) -> str:
    """Change many rows in one statement: they share their position in the log."""
    return f"update inv.order_lines set qty = qty + 1 where order_id < {chance.randint(1, 20)}"


def put_text(chance: random.Random) -> str:
    """Change a table whose keys are texts."""
    key = chance.choice(("a", "b", "ü", "x y", "🙂", "long key"))
    return f"insert into inv.texts values ('{key}', 1) on duplicate key update v = v + 1"


def put_wide(chance: random.Random) -> str:
    """Change a table whose key's type changes."""
    return (
        f"insert into inv.widepk (id, v) values ({chance.randint(1, 25)}, 'new') "
        "on duplicate key update n = n + 1"
    )


def put_scratch(chance: random.Random) -> str:
    """Change a table that is truncated now and then."""
    return (
        f"insert into inv.scratch values ({chance.randint(1, 40)}, 'new') "
        "on duplicate key update v = left(concat(v, '.'), 60)"
    )


def put_weird(chance: random.Random) -> str:
    """Change columns whose names events cannot have."""
    return f"update inv.`Weird Table` set `weird-name 1` = '{chance.random()}', `1st` = null, `select` = 7"


STATEMENTS: tuple[Statement, ...] = (
    put_customer, pay, drop_customer, rename_customer, replace_customer, swap_lines, put_line, shift_lines,
    drop_lines, put_text, put_nopk, put_wide, drop_wide, put_scratch, put_weird,
)  # fmt: skip
