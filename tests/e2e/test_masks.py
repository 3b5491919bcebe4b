"""Masked values are nowhere: not in files of the lake, rejects, reports, plans or logs."""

import hmac
import json
import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from pyarrow import parquet

from ingest.errors import TableChangedError, TableFileError
from ingest.testing import Message, date, decimal, nullable
from ingest.testing.deployment import Deployment
from tests.e2e.deployment import Deployments
from tests.long_files import write_out

pytestmark = [pytest.mark.spark, pytest.mark.servers]

SALT: Final = "a salt of thirty-two characters."
MISSING: Final = "__debezium_unavailable_value"
COLUMNS: Final = {
    "id": "int",
    "email": nullable("string"),
    "letter": nullable("string"),
    "card": nullable("string"),
    "salary": nullable(decimal(9, 2)),
    "born": nullable(date()),
    "seen": nullable(date()),
    "city": nullable("string"),
}
MASKS: Final = """
[columns.email]
mask = "hash"
[columns.letter]
mask = "hash"
[columns.card]
mask = "last4"
[columns.salary]
mask = "redact"
[columns.born]
mask = "null"
"""
SECRETS: Final = ("@hidden.example", "Dear Sir or Madam", "4929-1234", "76543.21", "1984-02-03")


def hashed(text: str | None) -> str | None:
    """Return the hash of a text by Python's own HMAC."""
    return None if text is None else hmac.digest(SALT.encode(), text.encode(), "sha256").hex()


def person(number: int, **values: Any) -> dict[str, Any]:
    """Return a row whose masked columns hold secrets."""
    return {
        "id": number,
        "email": f"p{number}@hidden.example",
        "letter": f"Dear Sir or Madam {number}",
        "card": f"4929-1234-5678-{number:04}",
        "salary": Decimal(7_654_321 + number) / 100,
        "born": 5146 + number,
        "seen": 20_000,
        "city": "Oslo",
        **values,
    }


def deployment_with_masks(root: Path, deployments: Deployments, kind: str) -> Deployment:
    """Onboard a topic of PostgreSQL, and mask columns as a user does."""
    deployment = deployments.plain(root)
    deployment.topic(f"mask{kind}.inv.people", COLUMNS, connector="postgres")
    deployment.onboard(name="{table}")
    write_out(deployment.tables)
    settings = root / "ingest.toml"
    settings.write_text(f'{settings.read_text()}[masking]\nsalt = "{SALT}"\n')
    file = deployment.tables / "people.toml"
    text = file.read_text().replace('type = "cow"', f'type = "{kind}"').replace("0.01", "1.0")
    text = text.replace("[hudi]", '[hudi]\n"hoodie.parquet.compression.codec" = "uncompressed"')
    text = text.replace('out_of_range = "null"', 'out_of_range = "fail"')
    file.write_text(text + MASKS)
    return deployment


def texts_in(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the bytes of each file, and of Parquet files also the decoded rows and the footer."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()
        if path.suffix == ".parquet":
            file = parquet.ParquetFile(path)
            yield path, repr((file.read().to_pylist(), file.metadata.to_dict(), file.schema_arrow)).encode()


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.pairs), "mor"])
def test_masked_values_are_nowhere(
    kind: str, tmp_path: Path, deployments: Deployments, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows that are new, changed, completed, deleted, rejected and replayed; hashes are Python's."""
    caplog.set_level(logging.DEBUG, "ingest")
    deployment = deployment_with_masks(tmp_path, deployments, kind)
    topic = deployment.topics[f"mask{kind}.inv.people"]
    shown: list[str] = []
    topic.send(*(topic.create(person(number)) for number in range(5)), topic.delete(person(3)))
    shown.append(json.dumps([deployment.plan()[0].to_json(), deployment.run().to_json()]))
    whole = topic.create(person(7))
    torn: Message = (whole[0][0], (whole[0][1] or b"")[:-3])
    topic.send(
        topic.update(person(1, letter=MISSING, city="Bergen")),
        topic.update(person(2, email=None)),
        topic.create(person(6, seen=2**31 - 1)),
        (torn,),
    )
    shown.append(json.dumps([deployment.plan()[0].to_json(), deployment.run().to_json()]))
    with deployment.session as session:
        rejects = session.rejects("people")
        shown += [json.dumps(rejects.to_json())]
        shown += [
            json.dumps(session.reject("people", 0, each.offset).to_json(whole=True))
            for each in rejects.records
        ]
        assert [each.reason for each in rejects.records] == ["conversion", "unreadable"]
    file = deployment.tables / "people.toml"
    file.write_text(file.read_text().replace('out_of_range = "fail"', 'out_of_range = "null"'))
    with deployment.session as session:
        shown.append(json.dumps(session.replay("people").to_json()))
        assert [each.reason for each in session.rejects("people").records] == ["unreadable"]

    rows = {row.id: row for row in deployment.frame("people").collect()}
    assert set(rows) == {0, 1, 2, 4, 6}
    for number, row in rows.items():
        expected = person(number)
        assert row.email == (None if number == 2 else hashed(expected["email"]))
        assert row.letter == hashed(expected["letter"])
        assert (row.card, row.salary, row.born) == (f"****{number:04}", "***", None)
    assert (rows[1].city, rows[6].seen) == ("Bergen", None)
    for secret in (*SECRETS, SALT):
        octets = (secret.encode(), secret.encode().hex().encode())
        assert [path for path, text in texts_in(tmp_path / "lake") if any(o in text for o in octets)] == []
        assert secret not in "".join(shown) + caplog.text


def test_a_changed_mask_is_refused(tmp_path: Path, deployments: Deployments) -> None:
    """Another mask, none, or another salt; a misspelled column; a missing salt: nothing is written."""
    deployment = deployment_with_masks(tmp_path, deployments, "cow")
    topic = deployment.topics["maskcow.inv.people"]
    topic.send(topic.create(person(1)))
    deployment.run()
    topic.send(topic.create(person(2)))
    file, settings = deployment.tables / "people.toml", tmp_path / "ingest.toml"
    edits = (
        (file, '[columns.email]\nmask = "hash"', '[columns.email]\nmask = "null"', TableChangedError),
        (file, '[columns.email]\nmask = "hash"', "", TableChangedError),
        (file, "[columns.born]", '[columns.city]\nmask = "redact"\n[columns.born]', TableChangedError),
        (settings, SALT, "another salt of as many characters", TableChangedError),
        (settings, "salt = ", "# ", TableFileError),
        (file, "[columns.born]", '[columns.emial]\nmask = "redact"\n[columns.born]', TableFileError),
    )
    for path, before, after, kind in edits:
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        (plan,), (outcome,) = deployment.plan(), deployment.run().tables
        path.write_text(text)
        assert isinstance(plan.error, kind), (after, plan.error)
        assert outcome.outcome == "failed"
    assert deployment.frame("people").count() == 1
    assert deployment.run().tables[0].outcome == "committed"


def test_a_new_column_with_a_tag_is_never_in_clear(tmp_path: Path, deployments: Deployments) -> None:
    """The tag comes with the version that adds the column; on a column that is stored it stops the table."""
    deployment = deployments.plain(tmp_path)
    columns = {"id": "int", "email": nullable("string")}
    topic = deployment.topic("tagged.inv.people", columns)
    deployment.onboard(name="t")
    write_out(deployment.tables)
    settings, file = tmp_path / "ingest.toml", deployment.tables / "t.toml"
    settings.write_text(f'{settings.read_text()}[masking.tags]\nPII = "redact"\n')
    file.write_text(file.read_text().replace("0.01", "1.0"))
    topic.send(topic.create({"id": 1, "email": "a@seen.example"}))
    deployment.run()
    tagged = nullable({"type": "string", "connect.parameters": {"tags": "PII"}})
    topic.version({**columns, "ssn": tagged})
    whole = topic.create({"id": 2, "email": "b@seen.example", "ssn": "4929-1234"})
    topic.send(whole, ((whole[0][0], (whole[0][1] or b"")[:-3]),))
    (outcome,) = deployment.run().tables
    assert (outcome.outcome, outcome.counts.rejected) == ("committed", 1)
    rows = {row.id: (row.email, row.ssn) for row in deployment.frame("t").collect()}
    assert rows == {1: ("a@seen.example", None), 2: ("b@seen.example", "***")}
    assert [path for path, text in texts_in(tmp_path / "lake") if b"4929-1234" in text] == []

    topic.version({**columns, "email": tagged, "ssn": tagged})
    topic.send(topic.create({"id": 3, "email": "c@hidden.example", "ssn": None}))
    (planned,), (outcome,) = deployment.plan(), deployment.run().tables
    assert isinstance(planned.error, TableChangedError)
    assert "columns.email.mask: found redact" in str(outcome.error)
    assert deployment.frame("t").count() == 2
