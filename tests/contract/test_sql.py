"""SQL is written in one module: elsewhere a template is a constant, and names and texts are values."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "ingest"
MAKERS = [
    *(
        path
        for room in ("sql", "typemap", "compile", "decode", "order")
        for path in sorted((ROOT / room).glob("*.py"))
    ),
    ROOT / "hudi" / "keys.py",
    ROOT / "spark" / "catalog.py",
    ROOT / "run" / "batch" / "keys.py",
]
SQL_MODULE = ROOT / "sql" / "template.py"
PARSED_BY_SPARK = {"selectExpr", "expr", "where", "filter"}
DIALECT_TEMPLATES = {"term.text", "template"}
"""Templates of `ingest.dialects`, all of them constants."""


def faults(source: str) -> Iterator[str]:
    """Give the lines that build SQL out of text."""
    tree = ast.parse(source)
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and is_constant(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "Sql":
            yield f"{node.lineno}: Sql(…) in place of sql(…)"
        if name == "replace" and node.args and "{" in ast.unparse(node.args[0]):
            yield f"{node.lineno}: .replace fills a template"
        if name == "sql" or (name in PARSED_BY_SPARK and isinstance(node.func, ast.Attribute)):
            texts = node.args[:1] if name == "sql" else node.args
            yield from (
                f"{node.lineno}: {name} of a built text" for text in texts if is_built(text, constants)
            )


def is_constant(node: ast.expr, constants: frozenset[str] | set[str]) -> bool:
    """Tell a text of the code's own, or a choice of such."""
    return (isinstance(node, ast.Constant) and isinstance(node.value, str)) or (
        isinstance(node, ast.Name) and node.id in constants
    )


def is_built(node: ast.expr, constants: set[str]) -> bool:
    """Tell a text that is neither a constant nor made of `Sql` values."""
    match node:
        case ast.Starred(value=ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str"), *_])):
            return False
        case ast.Starred(value=ast.GeneratorExp(elt=element) | ast.ListComp(elt=element)):
            return is_built(element, constants)
        case ast.Call(func=ast.Name(id="str")) | ast.Starred():
            return False
        case ast.JoinedStr() | ast.BinOp():
            return True
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "replace")):
            return True
        case ast.Name() | ast.Attribute() if ast.unparse(node) not in DIALECT_TEMPLATES:
            return not is_constant(node, constants) and ast.unparse(node).islower()
        case _:
            return False


@pytest.mark.parametrize(
    "path", [p for p in MAKERS if p != SQL_MODULE], ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_no_module_but_one_builds_sql_out_of_text(path: Path) -> None:
    """A text that is built could hold a name or a value from outside."""
    assert list(faults(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "rows.selectExpr(f'`{name}` as x')",
        "rows.where('a = ' + value)",
        "F.expr('{c} = 1'.replace('{c}', name))",
        "text.replace('{c}', name)",
        "sql(f'cast({name} as int)')",
        "sql('{} = 1'.format(name))",
        "Sql((name,))",
        "rows.selectExpr(*[f'{name} as x' for name in names])",
        "sql(text)",
    ],
)
def test_the_rule_finds(line: str) -> None:
    """Each of the ways in which SQL was built before."""
    assert list(faults(line))
