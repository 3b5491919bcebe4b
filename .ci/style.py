"""Check how the package reads: names, words, size and complexity, against fixed limits.

`python .ci/style.py [FOLDER]` prints one line per measure and exits with 1 if a limit is exceeded;
`--hits` also lists where.  `make check` runs it on `ingest/`.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

VAGUE_NAMES: Final = frozenset(
    {"one", "found", "told", "held", "said", "made", "met", "taken", "kept", "gone", "settled", "asked"}
    | {"wanted", "spelled", "known", "left", "place", "way", "more", "others", "most", "there"}
)
CLAUSES: Final = re.compile(r"\b(what|who|whoever|whose|whom|whatever)\b", re.IGNORECASE)
DENIALS: Final = re.compile(r"\b(is|are|was|were|be) no\b|\bnone\b|\bnobody\b")
ODD_WORDS: Final = re.compile(
    r"\b(told|tells?|anew|alone|beside|stands?|mend\w*|rubbish|spoilt|goes on|go on|for good|for ever"
    r"|given up|by then|by now|at the most|so long|so many)\b"
)
QUOTED_NONE: Final = re.compile(r"""^none$|["`]none["`]""")
"""`none` as the value of a setting or a Kafka property is not prose."""
LEANS: Final = re.compile(r"\b(that|those) of\b", re.IGNORECASE)
OWN: Final = re.compile(r"\bof (its|his|her|their|our|your|one's) own\b|\bof (ours|theirs)\b", re.IGNORECASE)
SEMICOLONS: Final = re.compile(";")
SIZE_CODES: Final = re.compile(r"#\s*noqa:[^\n]*\b(C901|PLR09\d\d|PLR17\d\d)\b")
SECTIONS: Final = re.compile(r"\n\s*(Args|Returns|Raises|Parameters|Examples?|Yields)\s*:?\n|\.\. ")

EXCEPTIONS: Final = frozenset[str]()
"""Functions (`path:name`) that may exceed the size or complexity limit, with a reason beside each."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
DOCUMENTED: Final = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BRANCHES: Final = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While),
    *(ast.ExceptHandler, ast.Assert, ast.match_case, ast.comprehension),
)


class Limit(NamedTuple):
    """A measure: its name, the largest value allowed, and the unit to print."""

    measure: str
    allowed: float
    unit: str = ""


LIMITS: Final = (
    Limit("vague names", 1.0, "% of bound names"),
    Limit("what/who clauses", 0.15, "per 100 docstring words"),
    Limit("denials", 0.15, "per 100 docstring words"),
    Limit("odd words", 0.15, "per 100 docstring words"),
    Limit("that of, those of", 0.05, "per 100 docstring words"),
    Limit("of its own", 0.03, "per 100 docstring words"),
    Limit("semicolons", 0.2, "per 100 docstring words"),
    Limit("denials in strings", 0, "string literals"),
    Limit("function length, 90th percentile", 15, "lines"),
    Limit("function length, longest", 40, "lines"),
    Limit("complexity", 15, "branches, comprehensions and conditions included"),
    Limit("imports inside functions", 10),
    Limit("modules imported at first use", 15, "calls of LazyModule"),
    Limit("size rules silenced", 0, "noqa comments"),
)

WORDS: Final = {
    "what/who clauses": CLAUSES,
    "denials": DENIALS,
    "odd words": ODD_WORDS,
    "that of, those of": LEANS,
    "of its own": OWN,
    "semicolons": SEMICOLONS,
}
"""The measures of docstrings, per 100 words."""


class Module:
    """One parsed source file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.nodes = list(ast.walk(self.tree))
        self.documented = [node for node in self.nodes if isinstance(node, DOCUMENTED)]
        self.functions: list[Function] = [
            node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]

    def bound_names(self) -> Iterator[tuple[int, str]]:
        """Yield line and name of every assigned name and argument."""
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.lineno, node.id
            elif isinstance(node, ast.arg) and node.arg not in {"self", "cls"}:
                yield node.lineno, node.arg

    def docstrings(self) -> Iterator[tuple[int, str]]:
        """Yield line and prose of every docstring; code in backticks counts as one word."""
        for node in self.documented:
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), re.sub(r"`[^`]*`", "X", SECTIONS.split(text)[0])

    def string_literals(self) -> Iterator[tuple[int, str]]:
        """Yield line and text of every string that is not a docstring."""
        docstrings = {node.body[0].value for node in self.documented if ast.get_docstring(node)}
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                yield node.lineno, node.value


def function_lines(function: Function) -> int:
    """Return the number of lines of a function's body, docstring excluded."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def complexity(function: Function) -> int:
    """Return the cyclomatic complexity: comprehensions, conditional expressions and operands count."""
    score = 1
    for node in ast.walk(function):
        score += isinstance(node, BRANCHES)
        score += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        score += len(node.ifs) if isinstance(node, ast.comprehension) else 0
    return score


class Report:
    """Measures of a package, and the places that count towards each."""

    def __init__(self, modules: list[Module]) -> None:
        self.hits: dict[str, list[str]] = {limit.measure: [] for limit in LIMITS}
        self.words = 0
        self.names = 0
        self.lengths: list[int] = []
        self.complexities: list[int] = []
        for module in modules:
            self._add_names(module)
            self._add_words(module)
            self._add_functions(module)
            self._add_lazy_modules(module)

    def _hit(self, measure: str, module: Module, line: int, text: object) -> None:
        self.hits[measure].append(f"{module.path}:{line}: {text}")

    def _add_names(self, module: Module) -> None:
        for line, name in module.bound_names():
            self.names += 1
            if name in VAGUE_NAMES:
                self._hit("vague names", module, line, name)

    def _add_words(self, module: Module) -> None:
        for line, text in module.docstrings():
            self.words += len(re.findall(r"[A-Za-z']+", text))
            for measure, pattern in WORDS.items():
                for match in pattern.finditer(text):
                    self._hit(measure, module, line, match.group(0))
        for line, text in module.string_literals():
            if DENIALS.search(QUOTED_NONE.sub("", text)):
                self._hit("denials in strings", module, line, repr(text[:80]))
        for number, text in enumerate(module.text.splitlines(), 1):
            if SIZE_CODES.search(text):
                self._hit("size rules silenced", module, number, text.strip())

    def _add_functions(self, module: Module) -> None:
        for function in module.functions:
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._hit("imports inside functions", module, node.lineno, function.name)
            if f"{module.path}:{function.name}" in EXCEPTIONS:
                continue
            lines, branches = function_lines(function), complexity(function)
            self.lengths.append(lines)
            self.complexities.append(branches)
            if lines > _allowed("function length, longest"):
                self._hit("function length, longest", module, function.lineno, f"{function.name} {lines}")
            if branches > _allowed("complexity"):
                self._hit("complexity", module, function.lineno, f"{function.name} {branches}")

    def _add_lazy_modules(self, module: Module) -> None:
        for node in module.nodes:
            match node:
                case ast.Call(func=ast.Name(id="LazyModule"), lineno=line):
                    self._hit("modules imported at first use", module, line, ast.unparse(node))

    def value(self, measure: str) -> float:
        """Return the figure of one measure."""
        hits = len(self.hits[measure])
        match measure:
            case "vague names":
                return 100 * hits / max(1, self.names)
            case _ if measure in WORDS:
                return 100 * hits / max(1, self.words)
            case "function length, 90th percentile":
                return sorted(self.lengths)[int(0.9 * (len(self.lengths) - 1))] if self.lengths else 0
            case "function length, longest":
                return max(self.lengths, default=0)
            case "complexity":
                return max(self.complexities, default=0)
            case _:
                return hits


def _allowed(measure: str) -> float:
    return next(limit.allowed for limit in LIMITS if limit.measure == measure)


def main() -> int:
    """Print every measure with its limit; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description="Check names, words, size and complexity of a package.")
    parser.add_argument("folder", nargs="?", default="ingest")
    parser.add_argument("--hits", action="store_true", help="list where")
    options = parser.parse_args()
    report = Report([Module(path) for path in sorted(Path(options.folder).rglob("*.py"))])
    is_exceeded = False
    for limit in LIMITS:
        value = report.value(limit.measure)
        exceeds = value > limit.allowed
        is_exceeded |= exceeds
        mark = "FAIL" if exceeds else "ok"
        print(f"{mark:4} {limit.measure}: {value:.2f} (limit {limit.allowed:g}) {limit.unit}".rstrip())
        if options.hits or exceeds:
            print(*(f"     {hit}" for hit in report.hits[limit.measure]), sep="\n")
    return int(is_exceeded)


if __name__ == "__main__":
    sys.exit(main())
