"""Settings: sources, precedence, refused values, and secrets."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.errors import SettingsError
from ingest.settings import KafkaSettings, RegistrySettings, Secret, Settings, load, mask_url
from ingest.settings.keys import FIELDS, MAPS

FULL = """
[registry]
url = "http://one:8081, http://two:8081"
timeout_s = 3
[kafka]
bootstrap_servers = "b:9092"
[kafka.properties]
security.protocol = "SASL_SSL"
"sasl.mechanism" = "PLAIN"
"sasl.password" = "geheim"
[lake]
path = "here/lake"
[spark]
master = "local[2]"
[spark.conf]
spark.sql.shuffle.partitions = 4
"spark.ui.enabled" = false
[run]
parallel_tables = 2
"""


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test in an empty folder, without variables of ours."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.delenv("INGEST_SETTINGS", raising=False)


def _file(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "ingest.toml"
    path.write_text(text)
    return path


def test_all_problems_of_table_defaults_are_reported_at_once(tmp_path: Path) -> None:
    """Next to the problems of the other sections."""
    target = "[defaults.target]\ntyp = 1\nretain_commits = 0\n"
    text = f"[lake]\npathh = 1\n{target}[defaults.rejects]\nmax_rows = -1\n"
    with pytest.raises(SettingsError) as caught:
        load(_file(tmp_path, text))
    keys = [problem.key for problem in caught.value.problems()]
    assert keys == [
        "lake.pathh",
        "defaults.target.typ",
        "defaults.target.retain_commits",
        "defaults.rejects.max_rows",
    ]


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    """A missing ./ingest.toml is fine; paths start at the working folder."""
    settings = load()
    assert settings.spark.master == "local[*]"
    assert settings.run.parallel_tables == 4
    assert settings.lake.path == str(tmp_path / "cwd" / "lake")
    assert settings.tables_dir == tmp_path / "cwd" / "tables"
    assert "no ingest.toml" in settings.source


def test_a_file_gives_every_section(tmp_path: Path) -> None:
    """Property names may be quoted or bare; relative paths start at the file."""
    path = _file(tmp_path / "deployment", FULL)
    settings = load(path)
    assert settings.source == str(path)
    assert settings.registry.url == "http://one:8081,http://two:8081"
    assert settings.registry.timeout_s == 3.0
    assert settings.kafka.bootstrap_servers == "b:9092"
    assert settings.kafka.properties == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "geheim",
    }
    assert settings.spark.conf == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    assert settings.lake.path == str(path.parent / "here/lake")
    assert settings.tables_dir == path.parent / "tables"
    assert settings.run.parallel_tables == 2


def test_the_file_is_named_by_argument_then_variable_then_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place wins over the next."""
    _file(tmp_path / "cwd", "[run]\nparallel_tables = 1")
    by_variable = _file(tmp_path / "b", "[run]\nparallel_tables = 2")
    by_argument = _file(tmp_path / "c", "[run]\nparallel_tables = 3")
    assert load().run.parallel_tables == 1
    monkeypatch.setenv("INGEST_SETTINGS", str(by_variable))
    assert load().run.parallel_tables == 2
    assert load(by_argument).run.parallel_tables == 3


def test_a_named_file_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names its source."""
    with pytest.raises(SettingsError, match=r"--settings: .*gone\.toml: is not a file"):
        load(tmp_path / "gone.toml")
    monkeypatch.setenv("INGEST_SETTINGS", str(tmp_path))
    with pytest.raises(SettingsError, match="environment variable INGEST_SETTINGS"):
        load()


def test_flags_win_over_environment_over_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag that was not given says nothing, nor does a variable that is set to nothing."""
    path = _file(tmp_path / "d", FULL)
    monkeypatch.setenv("INGEST_RUN_PARALLEL_TABLES", "7")
    monkeypatch.setenv("INGEST_REGISTRY_URL", "http://three:8081")
    monkeypatch.setenv("INGEST_KAFKA_BOOTSTRAP_SERVERS", "")
    settings = load(path, overrides={"registry.url": "http://four", "run.parallel_tables": None})
    assert settings.registry.url == "http://four"
    assert settings.run.parallel_tables == 7
    assert settings.kafka.bootstrap_servers == "b:9092"


def test_properties_are_merged_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password from the environment joins the properties of the file."""
    path = _file(tmp_path / "d", FULL)
    monkeypatch.setenv("INGEST_KAFKA_PROPERTIES_SASL_PASSWORD", "other")
    settings = load(path, overrides={"spark.conf.spark.ui.enabled": True})
    assert settings.kafka.properties["sasl.password"] == "other"
    assert settings.kafka.properties["security.protocol"] == "SASL_SSL"
    assert settings.spark.conf == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "true"}


def test_paths_start_where_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file at the file, in the environment and in flags at the working folder."""
    path = _file(tmp_path / "d", '[lake]\npath = "l"\n[spark]\njars = "j"\n[registry]\nca = "/c"')
    assert load(path).spark.jars == tmp_path / "d" / "j"
    assert load(path).registry.ca == Path("/c")
    assert load(path, tables=Path("t")).tables_dir == tmp_path / "cwd" / "t"
    monkeypatch.setenv("INGEST_LAKE_PATH", "e")
    assert load(path).lake.path == str(tmp_path / "cwd" / "e")
    assert load(path, overrides={"lake.path": Path("f")}).lake.path == str(tmp_path / "cwd" / "f")


@pytest.mark.parametrize("uri", ["s3a://bucket/lake", "hdfs://n:8020/x", "file:///x", "abfs://c@a/x"])
def test_a_hadoop_uri_is_left_alone(tmp_path: Path, uri: str) -> None:
    """It is not a local path."""
    assert load(_file(tmp_path, f'[lake]\npath = "{uri}"')).lake.path == uri


def test_a_folder_registry_becomes_an_absolute_file_url(tmp_path: Path) -> None:
    """By `file:` or by the bare path of a folder that is there."""
    (tmp_path / "cwd" / "fixtures").mkdir()
    expected = f"file:{tmp_path / 'cwd' / 'fixtures'}"
    for url in ("fixtures", "file:fixtures", f"file://{tmp_path}/cwd/fixtures"):
        assert load(overrides={"registry.url": url}).registry.url == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[registry]\nulr = 'x'", r"registry\.ulr: unknown key; allowed: url, .*Did you mean 'url'\?"),
        ("[registri]\nurl = 'x'", r"registri: unknown key.*Did you mean 'registry'\?"),
        ("[lake]\nnonsense = 1", r"lake\.nonsense: unknown key; allowed: path, lock"),
        ("[nonsense]", r"nonsense: unknown key; allowed: registry, kafka, lake"),
        ("defaults = 1", r"ingest\.toml:1: defaults: found 1 .*; allowed: a section"),
        (
            "[defaults.targets]",
            r"ingest\.toml:1: defaults\.targets: unknown key; allowed: key, target, types",
        ),
        ("[defaults]\ntopic = 't'", r"defaults\.topic: unknown key; allowed: key, target, types"),
        ("[defaults.target]\ntyp = 1", r"toml:2: defaults\.target\.typ: unknown key.*Did you mean 'type'\?"),
        ("[defaults.target]\ntype = 'c'", r"defaults\.target\.type: found 'c' .*; allowed: 'cow', 'mor'"),
        ("[defaults.target]\nbuckets = 8", r"toml:2: defaults\.target\.buckets: is decided for each table"),
        ("[defaults.evolution]\nx = 'fail'", r"defaults\.evolution\.x: unknown key; allowed: column-added"),
        ("[defaults.hudi]\nx = 'y'", r"defaults\.hudi\.x: is not a Hudi option"),
        ("[defaults.hudi]\nx = []", r"defaults\.hudi\.x: found \[\] \(a list\); allowed: text, a number"),
        (
            "[types]\ntimestamps = 'utc'\n[defaults.types]\ntimestamps = 'ntz'",
            r"toml:2: types\.timestamps: is given next to \[defaults\.types\] timestamps",
        ),
        ("registry = 'x'", r"registry: found 'x' \(text\); allowed: a section"),
        ("[kafka]\nproperties = 'x'", r"kafka\.properties: found 'x' \(text\); allowed: a section"),
        ("[kafka.properties]\na = [1]", r"kafka\.properties\.a: found \[1\] \(a list\)"),
        ("[run]\nparallel_tables = '5'", r"found '5' \(text\); allowed: a whole number"),
        ("[run]\nparallel_tables = true", r"found true \(true or false\); allowed: a whole"),
        ("[run]\nparallel_tables = 1.5", r"found 1\.5 \(a number\); allowed: a whole number"),
        ("[run]\nparallel_tables = 0", "found 0; allowed: 1 or more"),
        ("[registry]\ntimeout_s = nan", r"found nan; allowed: 0\.001 or more"),
        ("[registry]\nurl = 5", r"registry\.url: found 5 \(a whole number\); allowed: text"),
        ("[registry.url]\nx = 5", r"registry\.url: found \{'x': 5\} \(a section\); allowed: text"),
        ("[lake]\npath = ''", r"lake\.path: is empty"),
        (
            "[lake]\ndatabase = 'a.b'",
            r"lake\.database: found 'a\.b'; allowed: letters, digits and _",
        ),
        ("[run]\n[run]", r"not TOML: .*line 2"),
        ("[run\n", r"not TOML: .*line 1"),
        ("[registry]\nbasic_auth = 'x'", "allowed: user:password"),
        ("[registry]\nbasic_auth = 'a:b'\nbearer_token = 'c'", "found basic_auth and bearer_token"),
        ("[registry]\nurl = 'http://u:p@h'\nbearer_token = 'c'", "found user:password in url and"),
        ("[registry]\noauth_client_id = 'a'", r"registry\.oauth_token_url: is not set, but OAuth"),
        ("[registry]\nkey = 'k.pem'", r"registry\.certificate: is not set, but key"),
    ],
)
def test_a_wrong_value_is_named_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    """Wrong settings exit with 2, and name the allowed values."""
    path = _file(tmp_path, text)
    with pytest.raises(SettingsError, match=said) as caught:
        load(path)
    assert caught.value.source == str(path)
    assert caught.value.exit_code == 2


def test_all_problems_of_all_sources_are_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its source: a line of the file, a variable, a flag; also a secret that cannot be had."""
    text = """[registry]
ulr = "x"
basic_auth = { file = "gone" }
retries = "two"
[kafka.properties]
a.b = [1]
[run]
parallel_tables = 0
"""
    path = _file(tmp_path, text)
    monkeypatch.setenv("INGEST_RUN_STOP_GRACE_S", "long")

    with pytest.raises(SettingsError) as caught:
        load(path, overrides={"lake.lock": "maybe"})

    variable = "environment variable INGEST_RUN_STOP_GRACE_S"
    assert sorted((problem.source, problem.line, problem.key) for problem in caught.value.problems()) == [
        (str(path), 2, "registry.ulr"), (str(path), 3, "registry.basic_auth"),
        (str(path), 4, "registry.retries"),
        (str(path), 6, "kafka.properties.a.b"), (str(path), 8, "run.parallel_tables"),
        ("command line", 0, "lake.lock"), (variable, 0, "run.stop_grace_s"),
    ]  # fmt: skip
    assert len(str(caught.value).splitlines()) == 7


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """TOML is UTF-8."""
    path = _file(tmp_path, "")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load(path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("INGEST_RUN_PARALLEL_TABLES", "many", r"found 'many' \(text\); allowed: a whole number"),
        ("INGEST_ONBOARD_READERS", "spark, dafd", r"onboard\.readers: found 'dafd'.*Did you mean 'daft'\?"),
        ("INGEST_REGISTRY_URLS", "x", r"registry\.urls: unknown key.*Did you mean 'url'\?"),
        ("INGEST_SPARK_CONF", "x", r"spark\.conf: found 'x' \(text\); allowed: a section"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str) -> None:
    """Also one that nothing would have read."""
    monkeypatch.setenv(name, text)
    with pytest.raises(SettingsError, match=said) as caught:
        load()
    assert caught.value.source == f"environment variable {name}"


def test_variables_of_other_sections_are_other_peoples(monkeypatch: pytest.MonkeyPatch) -> None:
    """INGEST_HOME may be anything's."""
    monkeypatch.setenv("INGEST_HOME", "/x")
    assert load().run == Settings().run


def test_a_wrong_flag_is_named() -> None:
    """The command line's keys are checked like a file's."""
    with pytest.raises(SettingsError, match=r"command line: run\.parallel: unknown key"):
        load(overrides={"run.parallel": 5})


def test_secrets_show_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in repr nor in str, whatever way they came; `reveal` and the properties have them."""
    monkeypatch.setenv("INGEST_REGISTRY_BASIC_AUTH", "bob:geheim-1")
    text = """
    [registry]
    url = "http://h:1"
    key_password = "geheim-2"
    certificate = "c"
    [kafka.properties]
    sasl.jaas.config = 'x required password=\"geheim-3\";'
    ssl.key.pem = "geheim-4"
    [spark.conf]
    "spark.hadoop.fs.s3a.secret.key" = "geheim-5"
    "spark.hadoop.fs.s3a.access.key" = "geheim-6"
    "spark.endpoint" = "http://u:geheim-7@h"
    """
    settings = load(_file(tmp_path, text))
    assert "geheim" not in f"{settings!r} {settings} {settings.registry.basic_auth}"
    assert settings.registry.basic_auth == Secret("bob:geheim-1")
    assert settings.kafka.properties["ssl.key.pem"] == "geheim-4"
    assert {f"geheim-{n}" for n in range(1, 8)} <= set(settings.secrets())
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own bytes


@pytest.mark.parametrize("key", ["basic_auth", "bearer_token", "oauth_client_secret"])
def test_a_secret_of_a_wrong_type_is_not_shown(tmp_path: Path, key: str) -> None:
    """Only its type is named."""
    with pytest.raises(SettingsError, match="found a whole number; allowed: text") as caught:
        load(_file(tmp_path, f"[registry]\n{key} = 4711"))
    assert "4711" not in str(caught.value)


def test_secrets_of_one_text_hide_the_longer_first() -> None:
    """Otherwise the rest of the longer one would stay behind the mask."""
    settings = Settings(
        registry=RegistrySettings(url="http://u:abc@h", bearer_token=Secret("abcdef")),
        kafka=KafkaSettings(properties={"ssl.key.password": "abcd", "enable.token": "true"}),
    )
    plain = [text for text in settings.secrets() if text in {"abcdef", "u:abc", "abcd", "abc"}]
    assert plain == ["abcdef", "u:abc", "abcd", "abc"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h:1/x", "http://h:1/x"),
        ("http://u:p@h, https://u2:p@2,@h2/a@b", "http://***@h, https://***@h2/a@b"),
    ],
)
def test_urls_are_masked_however_odd_the_password(url: str, shown: str) -> None:
    """A password may hold signs that URLs would encode."""
    assert mask_url(url) == shown


def test_settings_and_table_files_import_without_clients_and_logging() -> None:
    """Airflow imports these modules all the time."""
    code = (
        "import sys, ingest.settings, ingest.tables, ingest.registry; "
        "heavy = {'structlog', 'confluent_kafka', 'pyspark', 'rich'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


SOURCES = """
[sources.shop]
url = "jdbc:postgresql://db/shop"
user = "reader"
password = { file = "secret" }
driver = "drivers/pg.jar"
parallel = 3
"""


def test_a_source_has_a_name_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its keys are those of any section: secrets elsewhere, paths from the file, variables, masks."""
    (tmp_path / "ingest.toml").write_text(SOURCES)
    (tmp_path / "secret").write_text("geheim\n")
    monkeypatch.setenv("INGEST_SOURCES_SHOP_CHUNK_ROWS", "500")
    monkeypatch.setenv("INGEST_SOURCES_CRM_URL", "jdbc:mysql://db/crm")
    settings = load(tmp_path / "ingest.toml")
    shop = settings.sources["shop"]
    assert (shop.user, shop.parallel, shop.chunk_rows, shop.database) == ("reader", 3, 500, "postgres")
    assert shop.driver == tmp_path / "drivers" / "pg.jar"
    assert settings.sources["crm"].database == "mysql"
    assert "geheim" in settings.secrets()
    assert "geheim" not in repr(settings)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ('urll = "jdbc:postgresql://db/shop"', "Did you mean 'url'?"),
        ('user = "x"', "sources.shop.url: is missing"),
        ('url = "postgres://db/shop"', "allowed: jdbc:postgresql:"),
        ('url = "jdbc:postgresql://db/shop?user=a&password=geheim"', "holds a password"),
        ('url = "jdbc:mysql://a:geheim@db/shop"', "holds a password"),
        ('url = "mongodb://a:geheim@db/shop"', "holds a password"),
        ('url = "jdbc:mysql://db/shop"\nparallel = 0', "allowed: 1 or more"),
    ],
)
def test_a_wrong_source_is_refused(lines: str, text: str, tmp_path: Path) -> None:
    """By its dotted key; a password in a URL never shows."""
    (tmp_path / "ingest.toml").write_text(f"[sources.shop]\n{lines}\n")
    with pytest.raises(SettingsError) as error:
        load(tmp_path / "ingest.toml")
    assert text in str(error.value)
    assert "geheim" not in str(error.value)


@pytest.mark.parametrize("key", sorted(FIELDS.keys() - set(MAPS)))
def test_every_setting_can_come_from_the_environment(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of value is written as text: a number, a truth, a choice, a path, a secret."""
    field = FIELDS[key]
    default = field.default
    value = default if isinstance(default, (bool, int, float, str)) and default != "" else "http://x/1"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = {
        "lake.database": "bronze",
        "masking.salt": "a salt of the environment",
        "onboard.readers": "spark, any",
    }.get(key, text)
    if key in ("registry.certificate", "registry.key", "registry.key_password", "registry.basic_auth"):
        monkeypatch.setenv("INGEST_REGISTRY_CERTIFICATE", "c.pem")
        text = "a:b"
    if key.startswith("registry.oauth"):
        for name in ("TOKEN_URL", "CLIENT_ID", "CLIENT_SECRET"):
            monkeypatch.setenv(f"INGEST_REGISTRY_OAUTH_{name}", "http://x/1")
    monkeypatch.setenv(f"INGEST_{key.upper().replace('.', '_')}", text)
    section, _, name = key.partition(".")
    loaded = getattr(getattr(load(), section), name)
    assert loaded is not None
    if isinstance(value, bool):
        assert loaded is value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[masking]\nsalt = "short"', "masking.salt: found a text that is not shown; allowed: 16 characters"),
        ("[masking]\nsalt = 12345678901234567890", "masking.salt"),
        ('[masking.tags]\nPII = "hsh"', "masking.tags.PII: found 'hsh'; allowed: 'hash', 'redact'"),
        ('[masking.tags]\nPII = "hash"', "masking.salt: is not set, but a tag has the mask 'hash'"),
    ],
)
def test_wrong_masks_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    """The salt is never shown."""
    with pytest.raises(SettingsError, match=re.escape(problem)) as caught:
        load(_file(tmp_path / "d", text))
    assert "12345678" not in str(caught.value)


def test_the_salt_is_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file or a variable, masked in the log and in every text of the settings."""
    monkeypatch.setenv("INGEST_MASKING_SALT", "a salt of the environment")
    settings = load(_file(tmp_path / "d", '[masking.tags]\nPII = "hash"'))
    assert "a salt of the environment" in settings.secrets()
    assert "environment" not in repr(settings)
    assert dict(settings.masking.of_tables().tags) == {"PII": "hash"}
    assert "salt" not in settings.masking.of_tables().salt_id
