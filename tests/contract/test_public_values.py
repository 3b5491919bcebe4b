"""`ingest` exports each value that the API takes or returns, and the reference describes it."""

import ast
import re
from pathlib import Path

import ingest

ROOT = Path(__file__).parents[2]
FACADE = ROOT / "ingest" / "api" / "session.py"
PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
OTHERWISE = {"Registry", "Stage", "TableFileError"}  # of methods of the command line
TEXTS = {"Format", "Reader", "Source"}  # literals


def imported(tree: ast.Module) -> set[str]:
    """Return the classes that a module imports from `ingest`."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ingest")
        for alias in node.names
        if alias.name[0].isupper() and not alias.name.isupper()
    }


def named(method: ast.FunctionDef) -> set[str]:
    """Return the names in the annotations of a method."""
    arguments = [*method.args.args, *method.args.kwonlyargs]
    annotations = [method.returns, *(argument.annotation for argument in arguments)]
    return {name for note in annotations if note for name in re.findall(r"\w+", ast.unparse(note))}


def values_of_the_api() -> set[str]:
    """Return the classes of `ingest` that public methods of the session name."""
    tree = ast.parse(FACADE.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [item for node in classes for item in node.body if isinstance(item, ast.FunctionDef)]
    public = [method for method in methods if not method.name.startswith("_")]
    found = imported(tree) & {name for method in public for name in named(method)}
    return found - OTHERWISE - TEXTS


def test_every_value_of_the_api_is_exported_and_described() -> None:
    """Also the parts of a report, which loops over it name."""
    values = values_of_the_api()
    assert len(values) > 25
    assert values <= set(ingest.__all__)
    described = set(re.findall(r"^\.\. auto(?:class|exception):: ingest\.(\w+)$", PAGE, re.MULTILINE))
    assert set(ingest.__all__) - {"__version__"} == described


def test_every_export_is_there() -> None:
    """Each name of `__all__` can be imported."""
    assert [name for name in ingest.__all__ if getattr(ingest, name, None) is None] == []
