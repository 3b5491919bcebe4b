"""The manifests of `docker/kubernetes/` fit the job: settings, table files, secrets, exit codes, times."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from ingest import settings
from ingest.errors import PermanentError, RetryableError, UserError
from ingest.tables.file import read_all

FILE: Final = Path(__file__).parents[2] / "docker" / "kubernetes" / "cronjob.yaml"
DOCUMENTS: Final[dict[str, dict[str, Any]]] = {
    document["metadata"]["name"]: document
    for document in yaml.safe_load_all(FILE.read_text(encoding="utf-8"))
}
JOB: Final = DOCUMENTS["ingest"]["spec"]["jobTemplate"]["spec"]
POD: Final = JOB["template"]["spec"]
(CONTAINER,) = POD["containers"]


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay the files out as the pod has them, and set its variables; return the working folder."""
    for mount in CONTAINER["volumeMounts"]:
        (volume,) = (volume for volume in POD["volumes"] if volume["name"] == mount["name"])
        source = volume.get("configMap", {}).get("name") or volume.get("secret", {}).get("secretName")
        if source is None:
            continue
        document = DOCUMENTS[source]
        files = document.get("data") or document["stringData"]
        target = tmp_path / mount["mountPath"].removeprefix("/")
        chosen = {mount["subPath"]: target} if "subPath" in mount else {name: target / name for name in files}
        for name, path in chosen.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name])
            path.chmod(0o440)
    for variable in CONTAINER["env"]:
        monkeypatch.setenv(variable["name"], str(tmp_path / variable["value"].removeprefix("/")))
    return tmp_path / "srv" / "ingest"


def test_settings_tables_and_secrets_are_read_as_the_pod_has_them(mounted: Path) -> None:
    """The working folder of the image has the settings and table files; each secret comes from its file."""
    loaded = settings.load(mounted / "ingest.toml")
    secret = DOCUMENTS["ingest-secrets"]["stringData"]
    assert loaded.kafka.properties["sasl.password"] == secret["kafka-password"]
    assert loaded.registry.basic_auth is not None
    assert loaded.registry.basic_auth.reveal() == secret["registry-login"]
    (table,) = read_all(loaded.tables_dir)
    assert table.name == "customers"
    assert not any(value in (mounted / "ingest.toml").read_text() for value in secret.values())


def test_exit_codes_decide_about_another_try() -> None:
    """A temporary failure counts as a try, a permanent one ends the job."""
    codes = {
        code: rule["action"] for rule in JOB["podFailurePolicy"]["rules"] if "onExitCodes" in rule
        for code in rule["onExitCodes"]["values"]
    }  # fmt: skip
    failing = dict.fromkeys((PermanentError.exit_code, UserError.exit_code), "FailJob")
    assert codes == failing | {RetryableError.exit_code: "Count"}


def test_a_stopped_pod_has_time_for_its_commit(mounted: Path) -> None:
    """Kubernetes kills a pod later than `ingest` gives up a commit."""
    loaded = settings.load(mounted / "ingest.toml")
    assert POD["terminationGracePeriodSeconds"] >= loaded.run.stop_grace_s + 20
