"""Write the bill of materials of a job as CycloneDX JSON: the package, its locked packages, its jars.

`python .ci/sbom.py FILE`, in the environment of requirements-release.lock.  Python packages come from
`docker/requirements.lock` with their hashes, jars from `jars/pom.xml` and `jars/lib`.  Hudi's bundle is one
component: the classes that it shades are not listed.
"""

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT: Final = Path(__file__).parents[1]
NAMESPACE: Final = {"m": "http://maven.apache.org/POM/4.0.0"}
_LOCKED: Final = re.compile(r"^([\w.-]+)==([^\s\\]+)((?:[\s\\]+--hash=sha256:[0-9a-f]{64})*)", re.MULTILINE)


def package() -> Component:
    """Return the wheel itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        purl=PackageURL("pypi", name=project["name"], version=project["version"]),
        bom_ref=project["name"],
    )


def python_packages() -> Iterator[Component]:
    """Yield the packages that a job installs; a package has a hash for each of its files."""
    text = (ROOT / "docker" / "requirements.lock").read_text(encoding="utf-8")
    for name, version, hashes in _LOCKED.findall(text):
        yield Component(
            name=name,
            version=version,
            purl=PackageURL("pypi", name=name, version=version),
            bom_ref=f"pypi:{name}",
            hashes=[_sha256(digest) for digest in re.findall(r"sha256:([0-9a-f]{64})", hashes)],
        )


def jars() -> Iterator[Component]:
    """Yield the artifacts of a Spark job, with the hash of the copied jar if it is there."""
    pom = ET.parse(ROOT / "jars" / "pom.xml").getroot()  # noqa: S314  our own file
    names = {
        item.tag.partition("}")[2]: item.text or "" for item in pom.find("m:properties", NAMESPACE) or ()
    }
    for profile in pom.iterfind("m:profiles/m:profile", NAMESPACE):
        if profile.findtext("m:id", namespaces=NAMESPACE) != "spark":
            continue
        for item in profile.iterfind("m:dependencies/m:dependency", NAMESPACE):
            group, name, version = (
                _filled(item.findtext(f"m:{part}", "", NAMESPACE), names)
                for part in ("groupId", "artifactId", "version")
            )
            jar = ROOT / "jars" / "lib" / f"{name}-{version}.jar"
            yield Component(
                group=group,
                name=name,
                version=version,
                purl=PackageURL("maven", group, name, version),
                bom_ref=f"maven:{group}:{name}",
                hashes=[_sha256(hashlib.sha256(jar.read_bytes()).hexdigest())] if jar.exists() else [],
            )


def _filled(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\$\{([^}]+)\}", lambda match: names[match[1]], text)


def _sha256(digest: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=digest)


def bill() -> Bom:
    """Return the bill: the package depends on all of it."""
    bom, root = Bom(), package()
    bom.metadata.component = root
    parts = [*python_packages(), *jars()]
    bom.components.update(parts)
    bom.register_dependency(root, parts)
    return bom


def main(path: Path) -> None:
    """Write the bill, and check it against CycloneDX's schema."""
    text = make_outputter(bill(), OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if problem is not None:
        raise SystemExit(f"{path}: not valid CycloneDX 1.6: {problem}")
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path}: {len(list(python_packages()))} Python packages, {len(list(jars()))} jars")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
