"""Table files: read strictly, written with comments, merged without touching a person's words."""

import re
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import TableFileError, UsageError
from ingest.names import Subject, Topic
from ingest.tables import (
    CONFLUENT,
    Column,
    Key,
    Subjects,
    TableConfig,
    Target,
    clashes,
    full_name,
    merge,
    own_name,
    parse_defaults,
    read,
    read_all,
    read_one,
    read_valid,
    render,
    source_fields,
    table_name,
    values_of,
)
from tests.feeds import feed
from tests.long_files import long_form

SMALL = """\
table = "customers"
topic = "server1.dbo.customers"
dialect = "sqlserver"
[subjects]
value = "server1.dbo.customers-value"
"""

TABLE = TableConfig(
    name="customers",
    topic=Topic("server1.dbo.customers"),
    dialect="sqlserver",
    subjects=Subjects(key=Subject("server1.dbo.customers-key"), value=Subject("server1.dbo.customers-value")),
    key=Key(("id",)),
    target=Target(buckets=4),
    columns={"amount": Column(type="decimal(20,4)"), "a.b": Column(exclude=True)},
    hudi={"hoodie.cleaner.commits.retained": "10"},
)

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
named = words.filter(lambda name: name.strip() != "")
columns = st.builds(Column, type=st.sampled_from([None, "int", "decimal(38,0)"]), time=st.just("micros"))
tables = st.builds(
    TableConfig,
    name=st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,20}", fullmatch=True),
    topic=st.from_regex(r"[a-z][a-zA-Z0-9._-]{0,20}", fullmatch=True).map(Topic),
    dialect=st.just("sqlserver"),
    epoch=st.integers(0, 9999),
    framings=st.sampled_from([CONFLUENT, ("glue",), ("confluent", "confluent-headers")]),
    subjects=st.builds(Subjects, key=st.none() | named.map(Subject), value=named.map(Subject)),
    key=st.lists(named, unique=True, max_size=3).map(lambda names: Key(tuple(names))),
    target=st.builds(Target, type=st.sampled_from(["cow", "mor"]), buckets=st.integers(1, 4096)),
    columns=st.dictionaries(named, columns, max_size=3),
    hudi=st.dictionaries(words.map(lambda word: f"hoodie.{word}"), words, max_size=3),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a tables folder with one small file."""
    (tmp_path / "customers.toml").write_text(SMALL)
    return tmp_path


def read_text(folder: Path, text: str) -> TableConfig:
    """Read a text as a table file."""
    (folder / "customers.toml").write_text(text)
    return read(folder / "customers.toml")


def test_a_small_file_takes_its_defaults(folder: Path) -> None:
    """Four keys are enough; the rest loses nothing silently."""
    table = read(folder / "customers.toml")

    assert (table.format, table.epoch, table.key, table.target) == ("avro", 0, Key(), Target())
    assert table.subjects.key is None


@given(tables, st.dictionaries(words, words, max_size=3))
def test_a_written_file_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, table: TableConfig, comments: dict[str, str]
) -> None:
    """No name and no remark becomes syntax."""
    path = tmp_path_factory.mktemp("tables") / "t.toml"
    path.write_bytes(render(table, comments).encode())

    assert read(path) == table


def test_remarks_stand_above_their_keys() -> None:
    """A reason or a doubt is where the person edits; one on a key that is not there stands at the head."""
    lines = render(TABLE, {"target.buckets": "4: two million rows", "columns.x": "no rule"}).splitlines()

    assert lines[lines.index("buckets = 4") - 1] == "# 4: two million rows"
    assert "# columns.x: no rule" in lines[:3]


def test_a_complete_file_is_merged_into_itself() -> None:
    """Nothing is missing: the very same text, comments, order and odd spacing too."""
    mine = "# mine\n" + SMALL.replace(" = ", "   =  ") + 'key = "k"  # why\n\n\n[target]\nbuckets = 16\n'
    mine += "[columns]\namount={}\n'a.b'={}\n"

    assert merge(mine, TABLE) == mine
    assert merge(render(TABLE, {}), TABLE) == render(TABLE, {})


def test_merging_adds_missing_keys_and_changes_nothing_else() -> None:
    """Keys that a file cannot be read without, and columns that it says nothing of."""
    mine = "# mine\n[subjects] # both\nvalue = 'other' # stays\n\n[columns.amount]\nexclude = true\n"
    merged = merge(mine, TABLE)

    rest = iter(merged.splitlines())
    assert all(line in rest for line in mine.splitlines()), "every line is there, in its order"
    assert tomllib.loads(merged) == {
        "table": "customers",
        "topic": "server1.dbo.customers",
        "dialect": "sqlserver",
        "subjects": {"value": "other", "key": "server1.dbo.customers-key"},
        "columns": {"amount": {"exclude": True}, "a.b": {"exclude": True}},
    }


def test_merging_leaves_out_keys_with_a_default() -> None:
    """A bucket count found later must not get into the file of a table that exists."""
    assert "buckets" not in merge(SMALL, TABLE)


@given(tables, st.sets(st.sampled_from(["table", "topic", "dialect", "subjects", "columns", "hudi"])))
def test_a_merged_file_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, table: TableConfig, gone: set[str]
) -> None:
    """Merging restores any removed part of a file, and merging again changes nothing."""
    document = tomlkit.parse(render(table, {}))
    for name in gone & document.keys():
        del document[name]
    merged = merge(tomlkit.dumps(document), table)
    path = tmp_path_factory.mktemp("tables") / "t.toml"
    path.write_bytes(merged.encode())

    assert read(path).subjects == table.subjects
    assert read(path).columns == table.columns
    assert merge(merged, table) == merged


@pytest.mark.parametrize(
    ("added", "key", "says"),
    [
        ('[target]\nbuckets = "5"', "target.buckets", "found '5' (text); allowed: a whole number"),
        ("[target]\nbuckets = 5.9", "target.buckets", "found 5.9"),
        ("[target]\nbuckets = true", "target.buckets", "found true"),
        ("[target]\nbuckets = 4097", "target.buckets", "allowed: 1 to 4096"),
        ('[target]\ntype = "Mor"', "target.type", "Did you mean 'mor'?"),
        ("[target]\ntable_version = 7", "target.table_version", "found 7 (a whole number); allowed: 6, 8, 9"),
        ('[target]\ntable_version = "6"', "target.table_version", "found '6' (text); allowed: 6, 8, 9"),
        ('[target]\ndelete = "sft"', "target.delete", "Did you mean 'soft'?"),
        ('[target]\nmode = "history"\ndelete = "soft"', "target.delete", 'Set it to "hard"'),
        ('[document.columns]\na = {path = "x"}', "document.columns.a.path", "a path such as $.a.b"),
        ('[document.columns]\n_cdc_a = {path = "$.x"}', "document.columns._cdc_a", "is not a column name"),
        ('[types]\nplaceholder = " "', "types.placeholder", "is empty"),
        ('[types]\nplaceholder = "hex:xyz"', "types.placeholder", "pairs of 0-9 and a-f"),
        ('[types]\nout_of_range = "nul"', "types.out_of_range", "Did you mean 'null'?"),
        ('[columns.c]\nout_of_range = "null"\nexclude = true', "columns.c.exclude", "excluded column"),
        ('[key]\ncolumns = "id"', "key.columns", "a list of text"),
        ('[target]\nalso = ["icberg"]', "target.also", "Did you mean 'iceberg'"),
        ('[target]\nreaders = ["spark", "trno"]', "target.readers", "Did you mean 'trino'"),
        ('[key]\ncolumns = ["a", "a"]', "key.columns", "names the column 'a' twice"),
        ("[evolving]\nadd = 1", "evolving", "unknown key"),
        ('[evolution]\ncolumn_added = "fail"', "evolution.column_added", "Did you mean 'column-added'?"),
        ('[evolution]\ncolumn-widened = "ignore"', "evolution.column-widened", "found 'ignore'"),
        ('[rejects]\nmax_share = "1 %"', "rejects.max_share", "allowed: a number"),
        ("[rejects]\nmax_share = 1.5", "rejects.max_share", "found 1.5; allowed: 0.0 to 1.0"),
        ("[rejects]\nmax_share = nan", "rejects.max_share", "found nan"),
        ("[rejects]\nmax_rows = -1", "rejects.max_rows", "found -1"),
        ('[columns."a.b"]\ntyp = "int"', 'columns."a.b".typ', "Did you mean 'type'?"),
        ('[columns.a]\ntype = "decimal(39,0)"', "columns.a.type", "p up to 38"),
        ('[columns.a]\ntype = "smallint"', "columns.a.type", "allowed: string, binary"),
        ('[columns.a]\nrename = "_cdc_op"', "columns.a.rename", "does not begin with _cdc_"),
        (
            '[columns.a]\nrename = "x"\n[columns.b]\nrename = "X"',
            "columns.b.rename",
            "also the new name of column 'a'",
        ),
        (
            '[columns.a]\nexclude = true\nrename = "b"',
            "columns.a.exclude",
            "cannot have a type, a mask or another name",
        ),
        ('[columns.a]\nexclude = true\n[key]\ncolumns = ["a"]', "key.columns", "is excluded"),
        ('[columns.a]\nmask = "sha"', "columns.a.mask", "allowed: 'hash', 'redact', 'last4', 'null'"),
        ('[columns.a]\nexclude = true\nmask = "hash"', "columns.a.exclude", "a mask"),
        (
            '[columns.a]\nmask = "last4"\n[key]\ncolumns = ["a"]',
            "columns.a.mask",
            "would merge rows of different keys",
        ),
        (
            '[columns.a]\nrename = "b"\nmask = "hash"\n[target]\npartition_by = ["b"]',
            "columns.a.mask",
            "splits the table into folders",
        ),
        ('[columns.a]\nsql = "n"\nmask = "hash"', "columns.a.sql", "has no other keys"),
        ('[columns."a b"]\nsql = "n"', "columns.a b", "is not a column name"),
        ('[columns.a]\nsql = "n"\n[key]\ncolumns = ["a"]', "key.columns", "which is computed"),
        ('[rows]\nwhere = " "', "rows.where", "is empty"),
        ('[rows]\nwher = "a"', "rows.wher", "Did you mean 'where'?"),
        ("[masking]", "masking", "unknown key"),
        ("[hudi]\nfoo = 1", "hudi.foo", "begin with 'hoodie.'"),
        ("[hudi]\nhoodie.a = [1]", "hudi.hoodie.a", "found [1] (a list)"),
        ('[hudi]\nhoodie.a.b = 1\n"hoodie.a.b" = 2', "hudi.hoodie.a.b", "is given twice"),
    ],
)
def test_a_wrong_key_or_value_is_refused_with_file_key_and_allowed_values(
    folder: Path, added: str, key: str, says: str
) -> None:
    """Nothing is guessed, nothing is converted, nothing is passed over."""
    expect_refusal(folder, SMALL + added, key, says)


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('tabel = "x"\n' + SMALL, "tabel", "unknown key; allowed: table, topic"),
        ("epoch = -1\n" + SMALL, "epoch", "allowed: 0 to 9999"),
        ('format = "cdl"\n' + SMALL, "format", "allowed: 'avro', 'debezium-json', 'cdl-json'"),
        (SMALL.replace("sqlserver", "record"), "target.mode", 'Set it to "append"'),
        (SMALL.replace("sqlserver", "sqlsrver"), "dialect", "Did you mean 'sqlserver'?"),
        ('key = "id"\n' + SMALL, "key", "allowed: a section"),
        (
            SMALL.replace('"sqlserver"', '"mongodb"') + '[columns.a]\nmask = "null"',
            "columns.a.mask",
            "the document in the column `doc` would hold the value too",
        ),
        ('table = "t"', "topic", "is missing"),
        (SMALL.replace("value", "key"), "subjects.value", "is missing"),
        (SMALL.replace("server1.dbo.customers-value", " "), "subjects.value", "is empty"),
        (SMALL.replace('"server1.dbo.customers"', '"a/b"'), "topic", "found 'a/b'"),
        ("x = ", "", "not TOML"),
        ("a = " + "[" * 1900, "", "nested deeper"),
        ("a" + ".a" * 100 + " = 1", "", "nested deeper"),
        ("x = 1\n" + "a" + ".a" * 600 + " = 1", "", "line 2 has more than 500 dots"),
    ],
)
def test_another_file_is_refused_with_file_key_and_allowed_values(
    folder: Path, text: str, key: str, says: str
) -> None:
    """A key before the others, a value in their place, a missing key, and no TOML."""
    expect_refusal(folder, text, key, says)


def expect_refusal(folder: Path, text: str, key: str, says: str) -> None:
    """Compare the error of a table file: its place, what is allowed, and the exit code."""
    with pytest.raises(TableFileError) as caught:
        read_text(folder, text)

    assert caught.value.path == str(folder / "customers.toml")
    assert caught.value.key == key
    assert says in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "name", ["", "../lake", "a/b", "a.b", "1a", "ä", "a\n", "_rejects", "_REJECTS_x", "a" * 201, " a"]
)
def test_a_table_s_name_cannot_leave_the_lake(folder: Path, name: str) -> None:
    """The table lies at <lake>/<name>, its rejects in a folder that no table may take."""
    text = SMALL.replace('"customers"', tomlkit.item(name).as_string())

    with pytest.raises(TableFileError, match="table's folder in the lake"):
        read_text(folder, text)


def test_hudi_options_need_no_quotes(folder: Path) -> None:
    """TOML makes tables of their dots; numbers and truth values are written as Hudi reads them."""
    text = SMALL + '[hudi]\nhoodie.a.b = 10\nhoodie.a.c = true\n"hoodie.d" = "x"\n'

    assert read_text(folder, text).hudi == {"hoodie.a.b": "10", "hoodie.a.c": "true", "hoodie.d": "x"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff", "not UTF-8: invalid byte at position 0"),
        (b"#\n" * 600_000, "larger than 1048576 bytes"),
    ],
)
def test_a_large_or_binary_file_is_refused(folder: Path, content: bytes, says: str) -> None:
    """Before anything is parsed."""
    (folder / "customers.toml").write_bytes(content)

    with pytest.raises(TableFileError, match=says):
        read(folder / "customers.toml")


def test_files_of_other_editors_are_read(folder: Path) -> None:
    """A byte order mark and Windows line ends change nothing."""
    (folder / "windows.toml").write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())

    assert read(folder / "windows.toml") == read(folder / "customers.toml")


def test_a_folder_gives_its_tables_or_the_named_ones(folder: Path) -> None:
    """Names select by what the files say, hidden files are an editor's."""
    (folder / "orders.toml").write_text(SMALL.replace('"customers"', '"orders"'))
    (folder / ".orders.toml").write_text("half a fi")

    assert [table.name for table in read_all(folder)] == ["customers", "orders"]
    assert [table.name for table in read_all(folder, ["orders"])] == ["orders"]


def test_an_unknown_name_is_answered_with_the_nearest(folder: Path) -> None:
    """A typing error on the command line is wrong usage."""
    with pytest.raises(UsageError, match=r"table 'custmers' does not exist.*Did you mean 'customers'\?"):
        read_all(folder, ["custmers"])


def test_two_files_of_one_table_are_refused(folder: Path) -> None:
    """They would write over each other."""
    (folder / "other.toml").write_text(SMALL)

    with pytest.raises(TableFileError, match=r"other\.toml.*also the table of customers\.toml"):
        read_all(folder)


def test_a_broken_file_stops_only_the_tables_that_it_could_hold(folder: Path) -> None:
    """A scheduler names one table a task; a name that is nowhere is reported with the broken file."""
    (folder / "orders.toml").write_text("half a fi")

    assert [table.name for table in read_all(folder, ["customers"])] == ["customers"]
    with pytest.raises(TableFileError, match=r"orders\.toml: not TOML"):
        read_all(folder)
    with pytest.raises(TableFileError, match=r"orders\.toml: not TOML"):
        read_all(folder, ["customers", "orders"])
    with pytest.raises(
        UsageError, match=r"table 'items' does not exist in .*, unless a broken file holds it.*orders\.toml"
    ):
        read_all(folder, ["items"])


def test_the_valid_tables_are_read_beside_the_errors_of_the_others(folder: Path) -> None:
    """Neither file of a table with two files is read."""
    (folder / "crm_a.toml").write_text("half a fi")
    (folder / "orders.toml").write_text(SMALL.replace('"customers"', '"orders"'))
    (folder / "other.toml").write_text(SMALL)

    def answer(*names: str) -> tuple[list[str], list[str]]:
        tables, broken = read_valid(folder, names)
        return [table.name for table in tables], [error.table for error in broken]

    assert answer() == (["orders"], ["crm_a", "other"])
    assert answer("orders", "crm_*") == (["orders"], ["crm_a"])
    assert answer("crm_a") == ([], ["crm_a"])
    assert answer("o*") == (["orders"], [])
    assert answer("customers") == ([], ["other"])
    with pytest.raises(UsageError, match="'items' does not exist"):
        read_valid(folder, ["orders", "items"])


def test_a_glob_names_all_tables_that_match(folder: Path) -> None:
    """Next to plain names; the order is that of the files, and each table comes once."""
    for name in ("crm_a", "crm_b", "erp"):
        (folder / f"{name}.toml").write_text(SMALL.replace('"customers"', f'"{name}"'))

    assert [table.name for table in read_all(folder, ["crm_*", "crm_a", "e[r]p"])] == [
        "crm_a",
        "crm_b",
        "erp",
    ]
    assert read_one(folder, "cust*").name == "customers"
    with pytest.raises(UsageError, match=r"'crm_\*' matches 2 tables: crm_a, crm_b\. Name one of them"):
        read_one(folder, "crm_*")
    with pytest.raises(UsageError, match=r"no table in .* matches 'cmr_\*'\. Did you mean 'crm_[ab]'\?"):
        read_all(folder, ["cmr_*"])
    with pytest.raises(UsageError, match=r"matches 'x\*'\. Its tables are: crm_a, crm_b, customers, erp"):
        read_all(folder, ["x*"])


def test_a_glob_meets_the_broken_files_that_it_could_hold(folder: Path) -> None:
    """By the file's name, as a plain name does."""
    (folder / "crm_a.toml").write_text("half a fi")

    with pytest.raises(TableFileError, match=r"crm_a\.toml: not TOML"):
        read_all(folder, ["crm_*"])
    assert [table.name for table in read_all(folder, ["cust*"])] == ["customers"]


def test_all_problems_of_all_files_are_reported_at_once_with_their_lines(folder: Path) -> None:
    """Unknown keys, wrong types, broken rules and missing keys, section by section."""
    (folder / "crm.toml").write_text(
        'tabel = "crm"\ntopic = "a b"\ndialect = "sqlserver"\n[subjects]\nvalue = "v"\n'
        '[target]\ntype = "cov"\npartition_by = ["x", "x"]\n'
        '[columns.amount]\ntype = "decimal(99,1)"\nnanos = 5\n[columns.b]\nexclude = true\ntype = "int"\n'
    )
    (folder / "erp.toml").write_text("half a fi")

    with pytest.raises(TableFileError) as caught:
        read_all(folder)

    problems = caught.value.problems()
    assert [(Path(problem.path).stem, problem.line, problem.key) for problem in problems] == [
        ("crm", 0, "table"), ("crm", 1, "tabel"), ("crm", 2, "topic"), ("crm", 7, "target.type"),
        ("crm", 8, "target.partition_by"), ("crm", 10, "columns.amount.type"),
        ("crm", 11, "columns.amount.nanos"), ("crm", 13, "columns.b.exclude"), ("erp", 0, ""),
    ]  # fmt: skip
    assert [line.partition(": ")[0] for line in str(caught.value).splitlines()][1] == f"{folder}/crm.toml:1"


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_tables_leads_to_onboard(tmp_path: Path, name: str) -> None:
    """A new user has not onboarded yet."""
    with pytest.raises(UsageError, match="ingest onboard"):
        read_all(tmp_path / name)


@pytest.mark.parametrize(
    ("topic", "template", "name"),
    [
        ("server1.dbo.customers", "{topic}", "server1_dbo_customers"),
        ("server1.dbo.customers", "{schema}_{table}", "dbo_customers"),
        ("server1.testDB.dbo.customers", "{database}_{table}", "testDB_customers"),
        ("eu.server1.testDB.dbo.customers", "{server}__{table}", "eu_server1__customers"),
        ("1st-db.dbo.t", "{topic}", "_1st_db_dbo_t"),
    ],
)
def test_a_table_s_name_comes_from_its_topic(topic: str, template: str, name: str) -> None:
    """Topics of both Debezium generations, illegal characters as `_`."""
    assert table_name(Topic(topic), template) == name


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{tabel}", "'{tabel}' is not a field.*Fields: {server}"),
        ("{database}", "topic server1.dbo.customers has no database"),
        ("{topic.__class__}", "is not a field"),
        ("{topic!r}", "must not have a format or conversion"),
        ("{topic:>300}", "must not have a format or conversion"),
        ("{", "name template"),
        ("_rejects", "which is not a table name"),
        ("", "which is not a table name"),
    ],
)
def test_a_wrong_template_is_refused(template: str, says: str) -> None:
    """A template names fields and nothing else."""
    with pytest.raises(UsageError, match=says):
        table_name(Topic("server1.dbo.customers"), template)


def test_topics_that_fall_onto_one_name_are_found() -> None:
    """`.` and `_` look alike in a table's name."""
    topics = [Topic("s.a.b_c"), Topic("s.a_b.c"), Topic("s.a.d")]

    assert clashes({topic: table_name(topic) for topic in topics}) == {
        "s_a_b_c": (Topic("s.a.b_c"), Topic("s.a_b.c"))
    }


@pytest.mark.parametrize(
    ("said", "read", "allowed"),
    [
        ("", 1, 10),
        ("", 1_099, 10),
        ("", 1_199, 11),
        ("min_rows = 0", 99, 0),
        ("min_rows = 0", 100, 1),
        ("min_rows = 3", 100, 3),
        ("", 10_000_000, 10_000),
        ("max_share = 1", 20, 20),
        ("max_share = 0", 1_000_000, 0),
        ("max_rows = 0", 1_000_000, 0),
        ("max_rows = 5", 1_000_000, 5),
    ],
)
def test_the_smaller_bound_of_rejects_counts(said: str, read: int, allowed: int, folder: Path) -> None:
    """A number of rows, and a share of what a run reads: neither may be passed."""
    table = read_text(folder, f"{SMALL}[rejects]\n{said}")
    assert table.rejects.allowed(read) == allowed


@pytest.mark.parametrize("section", ["types", "columns.amount"])
def test_an_old_key_is_read_with_a_warning(
    folder: Path, section: str, caplog: pytest.LogCaptureFixture
) -> None:
    """`beyond` is now `out_of_range`: the value counts, and the log names file, old and new key."""
    old = read_text(folder, f'{SMALL}[{section}]\nbeyond = "null"\n')
    (warning,) = [record.getMessage() for record in caplog.records]
    assert f"customers.toml: {section}.beyond is now named 'out_of_range'" in warning
    assert old == read_text(folder, f'{SMALL}[{section}]\nout_of_range = "null"\n')


def test_an_old_key_warns_only_those_who_ask_for_its_table(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each task of a scheduler runs one table, and would show the warnings of all others."""
    (folder / "customers.toml").write_text(f'{SMALL}[types]\nbeyond = "null"\n')
    (folder / "b.toml").write_text(re.sub("table = .*", 'table = "b"', SMALL))
    read_all(folder, ["b"])
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []
    read_all(folder, ["c*"])
    assert "now named" in caplog.text


@pytest.mark.parametrize("section", ["types", "columns.amount"])
def test_an_old_key_next_to_its_new_name_is_refused(folder: Path, section: str) -> None:
    """Two values for one rule: neither is guessed."""
    text = f'{SMALL}[{section}]\nbeyond = "null"\nout_of_range = "fail"\n'
    with pytest.raises(
        TableFileError, match=r"beyond: is the old name of 'out_of_range', which is given too"
    ):
        read_text(folder, text)


def test_a_new_file_holds_what_was_decided_and_what_is_fixed() -> None:
    """The name of the table, its topic, its key, and the keys that no default may change later."""
    table = attrs.evolve(TABLE, columns={}, hudi={}, target=Target())

    assert tomllib.loads(render(table, {})) == {
        "table": "customers",
        "topic": "server1.dbo.customers",
        "dialect": "sqlserver",
        "subjects": {"key": "server1.dbo.customers-key", "value": "server1.dbo.customers-value"},
        "key": {"columns": ["id"]},
        "target": {"type": "cow", "table_version": 9, "buckets": 2},
        "types": {"time": "string", "nanos": "timestamp", "timestamps": "ntz"},
    }


DEFAULTS = {
    "key": {"mismatch": "ignore"},
    "target": {"type": "mor", "delete": "soft", "retain_commits": 20, "retain_hours": 6},
    "types": {"decimals": "fail", "timestamps": "utc", "placeholder": "gone"},
    "evolution": {"column-dropped": "fail", "column-added": "ignore"},
    "rejects": {"max_rows": 0, "too_large": "fail"},
    "hudi": {"hoodie.cleaner.threads": 4},
}
parts = st.fixed_dictionaries(
    {},
    optional={
        section: st.sets(st.sampled_from(sorted(values))).map(
            lambda names, values=values: {name: values[name] for name in names}
        )
        for section, values in DEFAULTS.items()
    },
)


@given(tables, parts, parts)
def test_a_short_file_and_defaults_read_as_the_long_file(
    tmp_path_factory: pytest.TempPathFactory, table: TableConfig, given: dict[str, Any], own: dict[str, Any]
) -> None:
    """Also after onboarding has written the file, and a file overrides a default key by key."""
    path = tmp_path_factory.mktemp("tables") / "t.toml"
    document = tomlkit.parse(render(table, {}))
    for section, values in own.items():
        document[section] = {**document.get(section, {}), **values}
    path.write_bytes(tomlkit.dumps(document).encode())
    short = read(path, defaults=parse_defaults(given))
    path.write_bytes(long_form(short).encode())
    assert read(path) == short, "every key written out"
    assert read(path, defaults=parse_defaults(DEFAULTS)).target == short.target, "a file wins"

    path.write_bytes(render(short, {}, parse_defaults(given)).encode())
    assert read(path, defaults=parse_defaults(given)) == short
    changed = read(path, defaults=parse_defaults({"target": {"type": "cow"}, "types": {"time": "micros"}}))
    assert (changed.target.type, changed.target.buckets) == (short.target.type, short.target.buckets)
    assert [getattr(changed.types, name) for name in ("time", "nanos", "timestamps")] == [
        getattr(short.types, name) for name in ("time", "nanos", "timestamps")
    ]


def test_the_origin_of_each_value_is_known(folder: Path) -> None:
    """The file wins over `[defaults]`, which win over the product."""
    (folder / "customers.toml").write_text(SMALL + '[target]\ndelete = "hard"\n[columns.a]\nrename = "b"\n')
    given = {"target": {"delete": "soft", "type": "mor"}, "hudi": {"hoodie": {"x": 1}}}
    table = read_one(folder, "customers", parse_defaults(given))
    origins = {value.key: (value.value, value.origin) for value in values_of(table)}

    assert origins["target.delete"] == ("hard", "file")
    assert origins["target.type"] == ("mor", "defaults")
    assert origins["hudi.hoodie.x"] == ("1", "defaults")
    assert origins["columns.a.rename"] == ("b", "file")
    assert origins["rejects.max_rows"] == (10_000, "product")
    assert origins["evolution.key-changed"] == ("fail", "product")


def test_a_default_that_does_not_fit_a_file_is_named(folder: Path) -> None:
    """The message does not send a person to the table file for a key that it does not have."""
    (folder / "customers.toml").write_text(SMALL + '[target]\nmode = "history"\n')
    problem = r"target.delete: .* as versions with an end \(from \[defaults\] in the settings\)"
    with pytest.raises(TableFileError, match=problem):
        read_all(folder, defaults=parse_defaults({"target": {"delete": "soft"}}))


SPLIT = """\
table = "orders"
topic = "shop"
source_table = '{name}'
dialect = "{dialect}"
[subjects]
value = "shop-value"
[key]
columns = ["id"]
"""


@pytest.mark.parametrize(
    ("dialect", "name", "fields"),
    [
        ("postgres", "a.inv.orders", {"name": "a", "schema": "inv", "table": "orders"}),
        ("oracle", "a.b.INV.Order Lines", {"name": "a.b", "schema": "INV", "table": "Order Lines"}),
        ("mysql", 'a.inv."x.y"', {"name": "a", "db": "inv", "table": "x.y"}),
        (
            "sqlserver",
            'a.shop.dbo."say ""hi"""',
            {"name": "a", "db": "shop", "schema": "dbo", "table": 'say "hi"'},
        ),
    ],
)
def test_a_source_table_names_the_fields_of_its_source_block(
    folder: Path, dialect: str, name: str, fields: dict[str, str]
) -> None:
    """A step with dots has quotes; dots before the table's own steps are the connector's."""
    table = read_text(folder, SPLIT.format(dialect=dialect, name=name))

    assert source_fields(table) == fields
    assert feed(table).connector_topic == ".".join(fields.values())
    assert own_name(table) == full_name(fields, dialect) == name
    assert read_text(folder, render(table, {})) == table


@pytest.mark.parametrize("server", ["a", "a.b-1", "a..b", 'a"b', ".", '"'])
@pytest.mark.parametrize("step", ["orders", "x.y", 'say "hi"', '"', '""', ".", "..", " ", "ä.ö", "'"])
def test_the_full_name_of_any_source_block_reads_back(folder: Path, server: str, step: str) -> None:
    """Whatever letters a name has, its `source_table` is that of this table."""
    source = {"name": server, "schema": step, "table": step}
    head = {"name": "orders", "topic": Topic("shop"), "dialect": "postgres", "key": Key(("id",))}
    table = TableConfig(
        **head, subjects=Subjects(value=Subject("v")), source_table=full_name(source, "postgres")
    )

    assert source_fields(table) == source
    assert source_fields(read_text(folder, render(table, {}))) == source


def test_a_source_block_without_a_part_of_the_name_names_no_table() -> None:
    """The fields are those of the dialect: MySQL's tables have no schema, PostgreSQL's no database."""
    source = {"name": "a", "db": "shop", "schema": None, "table": "orders"}

    assert full_name(source, "mysql") == "a.shop.orders"
    assert full_name(source, "postgres") == ""
    assert full_name({**source, "table": ""}, "mysql") == ""


@pytest.mark.parametrize(
    ("dialect", "name", "more", "problem"),
    [
        ("postgres", "inv.orders", "", "allowed for postgres: server.schema.table"),
        ("sqlserver", "a.dbo.orders", "", "allowed for sqlserver: server.db.schema.table"),
        ("postgres", "a..orders", "", "found 'a..orders'"),
        ("postgres", 'a.inv."orders', "", "found 'a.inv.\"orders'"),
        ("mongodb", "a.inv.orders", "", "is not for the dialect 'mongodb'"),
        ("postgres", "a.inv.orders", 'format = "debezium-json"', "is only for Avro"),
        ("postgres", "a.inv.orders", 'framings = ["glue"]', "is only for Avro in the framing 'confluent'"),
    ],
)
def test_a_source_table_that_no_event_names_is_refused(
    folder: Path, dialect: str, name: str, more: str, problem: str
) -> None:
    """Anything else would match no event, or those of another table."""
    text = f"{more}\n{SPLIT.format(dialect=dialect, name=name)}"

    with pytest.raises(TableFileError, match=re.escape(problem)):
        read_text(folder, text)


def test_a_source_table_needs_one_topic_and_its_key(folder: Path) -> None:
    """The key subject of the topic has the keys of all its tables."""
    text = SPLIT.format(dialect="postgres", name="a.inv.orders")

    with pytest.raises(TableFileError, match=r"key.columns: is missing: the topic has the keys"):
        read_text(folder, text.replace('columns = ["id"]', ""))
    with pytest.raises(TableFileError, match="is only for a table of one topic"):
        read_text(folder, text.replace('topic = "shop"', 'topics = ["shop"]'))
