"""Row models answer: only their own modules know which one a table has."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import pytest

from ingest.compile.row_model import RowModel

ROOT: Final = Path(__file__).parents[2]
MODELS: Final = {model.__name__ for model in get_args(RowModel)}
OWN: Final = {
    "ingest/compile/row_model.py",
    *(f"ingest/order/{name}.py" for name in ("models", "append", "upsert", "soft_delete", "history")),
}


def questions(source: str) -> Iterator[int]:
    """Yield the lines that compare, match or test a row model, or import one to do so."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=others):
                asks = any(_is_model(part) for side in (left, *others) for part in ast.walk(side))
            case ast.MatchClass(cls=cls):
                asks = _is_model(cls)
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                asks = any(_is_model(part) for part in ast.walk(kinds))
            case ast.ImportFrom(module="ingest.compile.row_model", names=names):
                asks = any(alias.name in MODELS for alias in names)
            case _:
                continue
        if asks:
            yield node.lineno


def _is_model(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in MODELS
    return False


@pytest.mark.parametrize(
    "source",
    [
        "model == History()",
        "model in (Append(), History())",
        "row_model.Upsert() != model",
        "isinstance(model, SoftDelete)",
        "match model:\n    case Append() | Upsert(): pass",
        "from ingest.compile.row_model import Columns, History",
    ],
)
def test_each_way_to_ask_is_found(source: str) -> None:
    """A comparison, a pattern, a type test, and an import."""
    assert list(questions(source))


def test_no_other_module_asks_for_the_row_model() -> None:
    """They read the facts of the model, or call its module by `model_of`."""
    modules = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.glob("ingest/**/*.py")}
    asking = [f"{name}:{line}" for name in modules.keys() - OWN for line in questions(modules[name])]
    assert asking == []
    assert modules.keys() >= OWN
    assert list(questions(modules["ingest/order/models.py"]))
