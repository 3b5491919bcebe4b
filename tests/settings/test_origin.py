"""Secrets in a file or in what a command prints: read, never shown; and settings files that are too much."""

from pathlib import Path

import pytest

from ingest.errors import SettingsError
from ingest.settings import Secret, load

PASSWORD = "kafka.properties.sasl.password"  # noqa: S105 - a key


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, without variables of ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INGEST_SETTINGS", raising=False)


def _file(folder: Path, text: str) -> Path:
    path = folder / "d" / "ingest.toml"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_a_secret_can_lie_in_a_file_or_come_from_a_command(tmp_path: Path) -> None:
    """Paths start at the settings file; the last newline is not the secret's; no shell reads it."""
    path = _file(
        tmp_path,
        "[registry]\nbasic_auth = { command = \"printf '%s' 'bob:a b'\" }\n"
        '[kafka.properties]\n"sasl.password" = { file = "kafka" }\n'
        '[spark.conf.spark.hadoop.fs.s3a.secret]\nkey = { command = "cat kafka" }\n',
    )
    (path.parent / "kafka").write_text("geheim \n")
    settings = load(path)

    assert settings.registry.basic_auth == Secret("bob:a b")
    assert settings.kafka.properties == {"sasl.password": "geheim "}
    assert settings.spark.conf == {"spark.hadoop.fs.s3a.secret.key": "geheim "}
    assert {"bob:a b", "a b", "geheim "} <= set(settings.secrets())
    assert "geheim" not in repr(settings)


def test_the_environment_can_name_a_file_or_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As containers' secrets are mounted; a relative path starts at the working folder."""
    (tmp_path / "token").write_text("t0k\r\n")
    monkeypatch.setenv("INGEST_REGISTRY_BEARER_TOKEN_FILE", "token")
    monkeypatch.setenv("INGEST_KAFKA_PROPERTIES_SASL_PASSWORD_COMMAND", "echo p4ss")
    settings = load()

    assert settings.registry.bearer_token == Secret("t0k")
    assert settings.kafka.properties == {"sasl.password": "p4ss"}


def test_only_secrets_are_taken_from_elsewhere(tmp_path: Path) -> None:
    """Another property may well be called …file."""
    path = _file(tmp_path, '[spark.conf]\nspark.yarn.jars.file = "x"\n[registry]\nurl = { file = "u" }')
    with pytest.raises(
        SettingsError, match=r"registry\.url: found \{'file': 'u'\} \(a section\); allowed: text"
    ):
        load(path)
    path.write_text('[spark.conf]\nspark.yarn.jars.file = "x"\n')
    assert load(path).spark.conf == {"spark.yarn.jars.file": "x"}


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ('{ file = "gone" }', r"its file .*/d/gone cannot be read: No such file"),
        ('{ file = "empty" }', "its file yields nothing"),
        ('{ file = "bytes" }', "yields text that is not UTF-8"),
        ('{ file = "large" }', "yields more than 65536 bytes"),
        ('{ command = "false" }', "its command false ended with exit code 1"),
        ('{ command = "no-such-program x" }', "cannot run: No such file"),
        ('{ command = "echo \'x" }', "cannot run: it is not a command line"),
        ("{ command = \"sh -c 'echo s3cret; echo s3cret >&2; exit 3'\" }", "sh ended with exit code 3"),
        ('{ command = "true" }', "its command yields nothing"),
    ],
)
def test_a_secret_that_cannot_be_had_is_a_settings_error(tmp_path: Path, origin: str, said: str) -> None:
    """It names the key and the way, and repeats nothing that was said."""
    path = _file(tmp_path, f'[kafka.properties]\n"sasl.password" = {origin}\n')
    (path.parent / "empty").touch()
    (path.parent / "bytes").write_bytes(b"\xff")
    (path.parent / "large").write_text("x" * 65_537)
    with pytest.raises(SettingsError, match=said) as caught:
        load(path)
    assert (caught.value.key, caught.value.source) == (PASSWORD, str(path))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"a = {'[' * 100_000}",
        f"a = {'{ a = ' * 20_000}1{' }' * 20_000}",
        f"[{'.'.join('a' * 100_000)}]",
        "\n".join(f"{'.'.join('a' * 400)}.b{n} = 1" for n in range(20)),
        "x" * 300_000,
    ],
    ids=["arrays", "tables", "dots", "lines", "bytes"],
)
def test_a_settings_file_of_hostile_size_or_depth_is_refused(tmp_path: Path, text: str) -> None:
    """At once, and with the file's name."""
    path = _file(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 5_000


@pytest.mark.parametrize(
    ("text", "mode", "warns"),
    [
        ('[kafka.properties]\n"sasl.password" = "geheim"\n', 0o644, True),
        ('[registry]\nbearer_token = "geheim"\n', 0o604, True),
        ('[registry]\nbearer_token = "geheim"\n', 0o640, False),
        ('[registry]\nbearer_token = { file = "token" }\n', 0o644, False),
        ('[registry]\nurl = "http://r:8081"\n', 0o644, False),
    ],
)
def test_secrets_in_a_file_that_everybody_reads_are_a_warning(
    tmp_path: Path, text: str, mode: int, caplog: pytest.LogCaptureFixture, *, warns: bool
) -> None:
    """It names file, key and remedy, and not the secret."""
    path = _file(tmp_path, text)
    (path.parent / "token").write_text("t0k")
    path.chmod(mode)
    load(path)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == int(warns)
    assert all(f"chmod o-r {path}" in message and "geheim" not in message for message in messages)
