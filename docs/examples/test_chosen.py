"""Keep the open orders of one country, with the customer's address hashed and the card masked."""

import hmac

from ingest.testing import Deployment, Row, assert_table, nullable

COLUMNS = {
    "id": "int",
    "country": nullable("string"),
    "status": nullable("string"),
    "email": nullable("string"),
    "card": nullable("string"),
}
SALT = "keep this text with your secrets"
CHOSEN = """
[rows]
where = "country = 'NO' and status != 'closed'"

[columns.email]
mask = "hash"

[columns.card]
mask = "last4"
"""


def order(number: int, country: str, status: str = "new") -> Row:
    """Return an order as the source has it."""
    person = {"email": f"p{number}@shop.example", "card": f"4929123456780{number:03}"}
    return {"id": number, "country": country, "status": status, **person}


def stored(number: int, status: str) -> Row:
    """Return the same order as the table has it."""
    email = hmac.digest(SALT.encode(), f"p{number}@shop.example".encode(), "sha256").hex()
    return {"id": number, "country": "NO", "status": status, "email": email, "card": f"****0{number:03}"}


def test_chosen_rows_and_columns(ingest_deployment: Deployment) -> None:
    """Orders enter and leave the table by the condition; nothing of them is stored in clear."""
    orders = ingest_deployment.topic("server1.testDB.dbo.orders", COLUMNS)
    ingest_deployment.onboard(name="{table}")
    file, settings = ingest_deployment.tables / "orders.toml", ingest_deployment.root / "ingest.toml"
    file.write_text(file.read_text() + CHOSEN)
    settings.write_text(f'{settings.read_text()}[masking]\nsalt = "{SALT}"\n')

    orders.send(orders.create(order(1, "NO")), orders.create(order(2, "SE")), orders.create(order(3, "NO")))
    (outcome,) = ingest_deployment.run().tables
    assert outcome.counts.ignored == {"filtered": 1}
    assert_table(ingest_deployment.frame("orders"), [stored(1, "new"), stored(3, "new")], key=["id"])

    orders.send(orders.update(order(1, "NO", "closed")), orders.update(order(2, "NO", "paid")))
    ingest_deployment.run()
    assert_table(ingest_deployment.frame("orders"), [stored(2, "paid"), stored(3, "new")], key=["id"])
