"""Every recording becomes the chosen rows and columns of the source, in any order of arrival."""

import hmac
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import attrs
import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.recordings import MYSQL, ORACLE, ORACLE_RAC, POSTGRES, SQLSERVER, SQLSERVER_JSON, Recording
from tests.e2e.referee import differences, read_expected, read_table
from tests.e2e.test_equals_source import Plan, one_run, repeated_runs, slices, three_partitions

pytestmark = [pytest.mark.spark, pytest.mark.servers]

SALT = "a salt of these tests, long enough"
Row = Mapping[str, Any]


@attrs.frozen
class Chosen:
    """The choice of a table file, and the same in Python: `joined` are the columns of a computed one."""

    table: str
    where: str
    admits: Callable[[Row], bool]
    hashed: str
    last4: str
    joined: tuple[str, ...]

    def toml(self) -> str:
        """Return the lines of the table file."""
        joined = ", ".join(f"`{name}`" for name in self.joined)
        return (
            f'[rows]\nwhere = "{self.where}"\n'
            f'[columns."{self.hashed}"]\nmask = "hash"\n[columns."{self.last4}"]\nmask = "last4"\n'
            f"[columns.joined]\nsql = \"concat_ws('/', {joined})\"\n"
        )

    def of(self, row: Row) -> Row:
        """Return a row of the source as the table holds it."""
        texts = (row[name] for name in self.joined)
        changed = {self.hashed: hashed(row[self.hashed]), self.last4: last4(row[self.last4])}
        return {**row, **changed, "joined": "/".join(str(text) for text in texts if text is not None)}


def hashed(text: str | None) -> str | None:
    """Return the hash of a text."""
    return None if text is None else hmac.digest(SALT.encode(), text.encode(), "sha256").hex()


def last4(text: str | None) -> str | None:
    """Return the end of a text."""
    return None if text is None else f"****{text[-4:] if len(text) >= 8 else ''}"


def above(name: str, number: int = 0) -> Callable[[Row], bool]:
    """Return a condition over a number that may be null."""
    return lambda row: row[name] is not None and row[name] > number


CUSTOMERS = ("first_name", "last_name", ("id", "version"))
CHOICES: dict[Recording, Chosen] = {
    **dict.fromkeys(
        (SQLSERVER, SQLSERVER_JSON),
        Chosen("customers", "vip", lambda row: row["vip"] is True, "last_name", "first_name", ("id", "bio")),
    ),
    POSTGRES: Chosen("customers", "active", lambda row: row["active"] is True, *CUSTOMERS),
    **dict.fromkeys(
        (ORACLE, ORACLE_RAC),
        Chosen("CUSTOMERS", "BALANCE > 0", above("BALANCE"), "LAST_NAME", "FIRST_NAME", ("ID", "VERSION")),
    ),
    MYSQL: Chosen(
        "order_lines", "qty > 5", above("qty", 5), "sku", "note", ("order_id", "line_no", "channel")
    ),
}


@attrs.frozen
class ChoosingDeployment(Deployment):
    """A deployment of one table, whose file chooses."""

    choice: Chosen = attrs.field(kw_only=True)
    delete: str = attrs.field(kw_only=True)

    def onboard(self, patterns: Any = (), **target: Any) -> None:
        """Write the table file, with the choice."""
        settings, file = self.root / "ingest.toml", self.tables / f"{self.choice.table}.toml"
        settings.write_text(f'{settings.read_text()}[masking]\nsalt = "{SALT}"\n')
        topic = f"{self.prefix}.{self.recording.pattern.removesuffix('*')}{self.choice.table}"
        Deployment.onboard(self, [*patterns, topic], delete=self.delete, **target)
        file.write_text(f"{file.read_text()}\n{self.choice.toml()}")


USUAL = {(POSTGRES, slices, "mor")}
CASES = [
    pytest.param(*case, id=f"{case[0].name}-{case[1].__name__}-{case[2]}", marks=marks)
    for case in product(CHOICES, (one_run, slices, repeated_runs, three_partitions), ("cow", "mor"))
    for marks in [() if case in USUAL else pytest.mark.pairs]
]


@pytest.mark.parametrize("delete", ["hard", pytest.param("soft", marks=pytest.mark.pairs)])
@pytest.mark.parametrize(("recording", "plan", "kind"), CASES)
def test_tables_hold_the_chosen_rows_and_columns(
    recording: Recording,
    plan: Plan,
    kind: str,
    delete: str,
    make_deployment: Callable[[Recording], Deployment],
) -> None:
    """Rows enter and leave the condition; masks and computed columns follow each value."""
    choice, basic = CHOICES[recording], make_deployment(recording)
    deployment = ChoosingDeployment(
        basic.root, basic.servers, basic.spark, basic.prefix, attrs.evolve(recording, tables=(choice.table,)),
        choice=choice, delete=delete,
    )  # fmt: skip
    plan(deployment, kind)
    (last,) = deployment.run().tables
    if last.error is not None:  # hard deletes leave nothing to complete an update of a large object with
        assert (choice.table, delete) == ("CUSTOMERS", "hard")
        assert "the table has no values of a row that was outside the condition" in str(last.error)
        return

    source = read_expected(recording, choice.table)
    expected = {key: dict(choice.of(row)) for key, row in source.rows.items() if choice.admits(row)}
    assert 0 < len(expected) < len(source.rows)
    kinds = {n: kind for n, kind in source.kinds.items() if n not in (choice.hashed, choice.last4)}
    rows = deployment.frame(choice.table)
    rows = rows.where("not _cdc_deleted") if delete == "soft" else rows
    assert differences(expected, read_table(rows, source.keys, kinds)) == []
    with deployment.session as session:
        entries = session.commits(choice.table).commits
    counters = [commit.entry.counters for commit in entries if commit.entry]
    assert sum(counter.get("ignored.filtered", 0) for counter in counters) > 0
