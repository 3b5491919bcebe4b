"""Claims of the pages that the code, the build files or a recorded result can contradict."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import attrs

from ingest.config.rules import file_fields
from ingest.decode.rejects import Reason
from ingest.hudi.upkeep import retention
from ingest.settings.keys import FIELDS, MAPS, NAMED
from ingest.sources.databases import DATABASES
from ingest.spark import jdk
from ingest.tables import TableConfig
from ingest.tables.evolution import RULES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "tests" / "README.md",
        ROOT / "docker" / "README.md",
        *DOCS.glob("*.md"),
        *DOCS.glob("sources/*.md"),
        *DOCS.glob("words/*.md"),
    ]
)
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PAGES}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
POM = (ROOT / "jars" / "pom.xml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
READERS = [
    cell
    for name in ("readers_9", "trino_9")
    for cell in json.loads((DOCS / "places" / f"{name}.json").read_text(encoding="utf-8"))["cells"]
]

_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_KEY = re.compile(r"\[([a-z_]+)(?:\.\w+)?\] ([a-z_]+)\b")
_FILE = re.compile(r"^(?:\w+/)+\w+\.\w+$")
_TARGET = re.compile(r"^(?:\w+=\S+ )?make ([a-z-]+)")
_VARIABLE = re.compile(r"\bINGEST_[A-Z_]+\b")


def text_of(name: str) -> str:
    """Return the text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def in_code() -> Iterator[tuple[str, str]]:
    """Return what the sentences of the pages write as code, each with its page."""
    for name, text in TEXTS.items():
        yield from ((name, match[1]) for match in _CODE.finditer(_BLOCK.sub("", text)))


def first_column(text: str, heading: str) -> list[str]:
    """Return the first cells of the table under this first heading."""
    _, _, rest = text.partition(f"| {heading} |")
    table, _, _ = rest.partition("\n\n")
    return re.findall(r"^\| (.+?) \|", table, re.MULTILINE)[1:]


def pinned(name: str) -> str:
    """Return a version of jars/pom.xml."""
    (version,) = re.findall(rf"<{re.escape(name)}\.version>([^<]+)<", POM)
    return str(version)


# --- versions ------------------------------------------------------------------------------------


def test_the_page_of_versions_names_what_the_code_accepts() -> None:
    """Python by pyproject.toml, Java by the check before Spark starts."""
    lowest, above = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    needs = f"Python 3.{lowest} to 3.{int(above) - 1}, Java {jdk.OLDEST} to {jdk.NEWEST} and Spark 3.5"
    assert needs in text_of("deployment.md")


def test_the_page_of_versions_names_what_is_pinned() -> None:
    """The versions with which all tests run."""
    (pyspark,) = (line for line in PROJECT["optional-dependencies"]["spark"] if line.startswith("pyspark"))
    assert pyspark == f"pyspark=={pinned('spark')}"
    lock = (ROOT / "requirements-airflow.lock").read_text(encoding="utf-8")
    (airflow,) = re.findall(r"^apache-airflow==(\S+)", lock, re.MULTILINE)
    (python,) = re.findall(r"^PYTHON \?= python(\S+)$", MAKEFILE, re.MULTILINE)
    rows = {
        "Python": python,
        "Spark, Java": f"{pinned('spark')} on Java {jdk.TESTED}",
        "Hudi": pinned("hudi"),
        "Airflow": f"{airflow} on Python {python}",
        "Kafka": pinned("broker"),
        "registry": f"Apicurio {pinned('registry')}",
    }
    shown = dict(re.findall(r"^\| ([\w, ]+) \| ([^|]+) \|", text_of("deployment.md"), re.MULTILINE))
    assert {part: shown[part] for part in rows} == rows


def test_versions_on_pages_are_the_pinned_ones() -> None:
    """Of Spark, Hudi and its older readers, Hadoop, and of the Python and the JDK of a checkout."""
    (python,) = re.findall(r"^PYTHON \?= python(\S+)$", MAKEFILE, re.MULTILINE)
    names = ("Spark", "Hudi", "Hadoop")
    right = {(name, pinned(name.lower())) for name in names} | {
        ("Java", f"{jdk.TESTED} JDK"),
        ("Python", python),
        *(
            ("Hudi", old)
            for old in re.findall(r"hudi-spark3.5-bundle_2.12</artifactId>\s*<version>([^<]+)<", POM)
        ),
    }
    patterns = [rf"\b({name}) (\d+\.\d+\.\d+)" for name in names]
    patterns += [r"\b(Java) (\d+ JDK)", r"Linux,\s+(Python) (3\.\d+),\s+a Java"]
    named = {
        (page, *found)
        for page, text in TEXTS.items()
        for each in patterns
        for found in re.findall(each, text)
    }
    assert {tuple(found) for _, *found in named} == right


# --- names ---------------------------------------------------------------------------------------


def keys_of_table_files() -> set[tuple[str, str]]:
    """Return the sections of a table file with their keys."""
    kinds = {name: field.type for name, field in file_fields(TableConfig).items()}
    owners = {name: get_args(kind)[-1] if get_origin(kind) is dict else kind for name, kind in kinds.items()}
    return {
        (name, key)
        for name, owner in owners.items()
        if owner and attrs.has(owner)
        for key in file_fields(owner)
    }


def test_keys_on_pages_exist() -> None:
    """As `[section] key`, of the settings or of a table file."""
    known = {tuple(key.split(".", 1)) for key in FIELDS} | keys_of_table_files()
    named = {(page, key) for page, code in in_code() for key in _KEY.findall(code)}
    assert len(named) > 50
    assert {(page, key) for page, key in named if key not in known and key[0] != "hudi"} == set()


def test_variables_on_pages_are_read() -> None:
    """Each names a setting, with or without the source of a secret."""
    of_tests = {"INGEST_TABLE_VERSION"}
    known = {f"INGEST_{key.replace('.', '_').upper()}" for key in FIELDS} | {"INGEST_SETTINGS"} | of_tests
    open_ended = tuple(f"INGEST_{key.replace('.', '_').upper()}_" for key in [*MAPS, *NAMED])
    named = {(page, name) for page, text in TEXTS.items() for name in _VARIABLE.findall(text)}
    settings = {(page, name, re.sub(r"_(FILE|COMMAND)$", "", name)) for page, name in named}
    assert len(settings) > 10
    assert {
        found for found in settings if found[2] not in known and not found[2].startswith(open_ended)
    } == set()


def test_files_on_pages_exist() -> None:
    """From the root of the checkout, from docs/, from ingest/ or from the sources of jvm/."""
    tops = (
        ROOT,
        DOCS,
        ROOT / "docker",
        ROOT / "ingest",
        ROOT / "jvm" / "src" / "main" / "java" / "io" / "hudicdc" / "ingest",
    )
    folders = {folder.name for top in tops for folder in top.iterdir() if folder.is_dir()} - {"tables"}
    named = {(page, code) for page, code in in_code() if _FILE.match(code) and code.split("/")[0] in folders}
    assert len(named) > 50
    assert {(page, name) for page, name in named if not any((top / name).exists() for top in tops)} == set()


def test_targets_on_pages_exist() -> None:
    """The Makefile has a rule for each `make TARGET`."""
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    named = {(page, match[1]) for page, code in in_code() if (match := _TARGET.match(code))}
    assert len(named) > 20
    assert {(page, name) for page, name in named if name not in targets} == set()


# --- facts ---------------------------------------------------------------------------------------


def test_the_page_of_verify_names_the_databases_that_it_reads() -> None:
    """A row for each kind of JDBC URL, and a section for MongoDB."""
    text = text_of("verify.md")
    shown = {re.sub(r" [\d.]+ and later", "", cell) for cell in first_column(text, "database")}
    urls = {url.split(":")[1] for database in DATABASES.values() for url in database.drivers}
    assert {name.replace(" ", "").lower() for name in shown} == urls
    assert "\n### MongoDB\n" in text


def test_the_page_of_schema_changes_names_every_kind_with_its_default() -> None:
    """docs/why.md counts them."""
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| `(\w+)`: ", text_of("schema-changes.md"), re.MULTILINE)
    assert dict(rows) == {kind: rule.default for kind, rule in RULES.items()}
    assert f"| policy per kind of schema change | {len(RULES)} kinds |" in text_of("why.md")


def test_the_page_of_rejects_names_every_reason() -> None:
    """A TRUNCATE fails the run, and is never in the rejects table."""
    cells = first_column(text_of("rejects.md"), "reason")
    assert {name for cell in cells for name in _CODE.findall(cell)} == {*get_args(Reason)} - {"truncate"}


def test_the_page_of_maintenance_names_when_upkeep_is_due() -> None:
    """Options of Hudi have one name on the pages, the present one."""
    least, most = retention.ARCHIVE_AT
    assert f"(`compact_at`), or after {retention.DELTA_COMMITS} commits |" in text_of("maintenance.md")
    assert f"| after {most} commits, leaving {least} |" in text_of("maintenance.md")
    former = retention.FORMER_NAMES.values()
    assert [(page, name) for page, text in TEXTS.items() for name in former if name in text] == []


def program(cell: dict[str, str]) -> str:
    """Return a reader's name without the kind of its query."""
    return re.sub(" (snapshot|time travel|incremental|CDC)$", "", cell["reader"])


def test_the_limits_name_the_readers_that_fail() -> None:
    """By the results that `make test-places` recorded."""

    def readers(result: str, tables: set[str], *, zoneless: bool) -> set[str]:
        cells = [cell for cell in READERS if cell["table"] in tables and cell["result"] == result]
        return {program(cell) for cell in cells if zoneless == (cell["type"] == "timestamp_ntz")}

    excluded = readers("fails", {"cow"}, zoneless=False)
    stopped = readers("fails", {"cow"}, zoneless=True) - excluded
    old = {
        program(cell)
        for cell in READERS
        if (cell["table"], cell["type"], cell["result"]) == ("mor", "int", "differs")
    }
    names = {program(cell) for cell in READERS}
    _, _, section = text_of("limits.md").partition("\n## Readers\n")
    unwrapped = section.partition("\n## ")[0].replace("\n  ", " ")
    bullets = re.findall(r"^- ([^\n]+)", unwrapped, re.MULTILINE)
    shown = [{name for name in names if re.search(rf"\b{re.escape(name)}\b", bullet)} for bullet in bullets]
    assert shown[:2] == [stopped | excluded, old]


def test_nothing_that_ran_is_listed_as_not_tested() -> None:
    """The places that docs/places/tests.json has results of."""
    titles = json.loads((DOCS / "places" / "tests.json").read_text(encoding="utf-8"))["sections"].values()
    ran = {re.split(r"[ :]", title)[0] for title in titles} & {"HDFS", "S3", "Trino", "YARN"}
    (untested,) = re.findall(r"^- Not tested: (.*?)\.$", text_of("limits.md"), re.MULTILINE | re.DOTALL)
    assert len(ran) == 4
    assert {place for place in ran if re.search(rf"\b{place}\b", untested)} == set()


def test_the_recorded_claims_are_those_of_tests_that_pass() -> None:
    """A renamed or removed test leaves its result in docs/places/tests.json, and so does a failed one."""
    recorded = json.loads((DOCS / "places" / "tests.json").read_text(encoding="utf-8"))["tests"]
    modules = (ROOT / "tests" / "places").glob("test_*.py")
    sources = "".join(path.read_text(encoding="utf-8") for path in modules)
    names = set(re.findall(r"^ *def test_(\w+)", sources, re.MULTILINE))
    claims = [test["claim"].partition(" (")[0].replace(" ", "_") for test in recorded]
    assert [claim for claim in claims if claim not in names] == []
    assert [test for test in recorded if test["result"] != "passed"] == []


def test_every_page_is_linked_from_the_readme() -> None:
    """A page that nobody finds is not read."""
    readme = TEXTS["README.md"]
    included = {"changelog.md", "contributing.md", "docker.md", "tests.md"}  # files of other folders
    own = [*DOCS.glob("*.md"), *DOCS.glob("sources/*.md"), *DOCS.glob("reference/*.md")]
    names = [str(path.relative_to(ROOT)) for path in own if path.name not in included]
    assert [name for name in names if f"({name})" not in readme] == []
