"""`ingest jars`: the pinned jars of a Spark job, fetched or listed."""

import shutil
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from ingest.cli.options import Deployment
from ingest.cli.output import print_json, print_page, print_table, print_text, spin
from ingest.cli.page import Json
from ingest.errors import UsageError
from ingest.jars.artifacts import find_artifacts
from ingest.jars.folder import JarFolder
from ingest.jars.pins import megabytes

app = App(name="jars", help_format="markdown", help="Fetch or list the pinned jars of a Spark job.")


@app.command
def fetch(
    *,
    to: Annotated[
        Path | None,
        Parameter(
            help="Another folder, which also gets the jar of ingest's own functions: for `[spark] jars`, "
            "`--jars`, or a machine without a network."
        ),
    ] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> None:
    """Fetch the jars that are missing or damaged, and compare all with their pinned SHA-256.

    `ingest run` does so on its first start. The repository is `[spark] repository`, by default the mirror in
    Maven's settings, or else the default of Spark's `--packages`. `HTTPS_PROXY`, `NO_PROXY` and
    `SSL_CERT_FILE` apply. An interrupted download continues where it ended.

    Example: `ingest jars fetch --to /opt/ingest/jars`
    """
    settings = deployment.open().settings.spark
    if settings.jars is not None and to is None:
        raise UsageError(
            f"[spark] jars is {settings.jars}, which replaces the jars that `ingest` fetches",
            "Remove the setting, or name a folder with --to",
        )
    folder = find_artifacts().pinned() if to is None else JarFolder(to.absolute())
    with spin(f"Fetching into {folder.path}") as show:
        fetched = folder.fetch(settings.repository, show)
    if to is not None:
        _copy_functions(folder.path)
    if json:
        print_json({"folder": str(folder.path), "fetched": [jar.file for jar in fetched]})
        return
    print_text(f"{folder.path}: {len(folder.jars)} jars are present and verified, {len(fetched)} of them new")


@app.command(name="list")
def list_jars(*, json: Json = False, deployment: Deployment = Deployment()) -> None:
    """List each jar: coordinate, size, SHA-256, path, and whether it is present, missing or damaged.

    Without a network, copy the missing files from another machine to these paths.

    Example: `ingest jars list --json`
    """
    folder = JarFolder(deployment.open().settings.spark.jars or find_artifacts().pinned().path)
    rows = _rows(folder)
    if json:
        print_json(rows)
        return
    titles = ("coordinate", "bytes", "sha256", "path", "state")
    print_table(titles, [[row[title] for title in titles] for row in rows], right=("bytes",))
    _print_advice(folder, [row for row in rows if row["state"] != "present"])


def _copy_functions(folder: Path) -> None:
    source = find_artifacts().functions()
    try:
        shutil.copy(source, folder)
    except OSError as error:
        raise UsageError(
            f"{source.name} cannot be written to {folder}: {error.strerror}", "Name a writable folder"
        ) from None


def _rows(folder: JarFolder) -> list[dict[str, Any]]:
    return [
        {
            "file": jar.file,
            "coordinate": jar.coordinate,
            "bytes": jar.size,
            "sha256": jar.sha256,
            "path": str(folder.path / jar.file),
            "repository_path": jar.repository_path,
            "state": state,
        }
        for jar, state in folder.states().items()
    ]


def _print_advice(folder: JarFolder, rows: list[dict[str, Any]]) -> None:
    """Say how to get the missing files, with and without a network."""
    if not rows:
        return
    size = megabytes(sum(row["bytes"] for row in rows))
    print_text()
    print_text(
        f"To fetch {len(rows)} files, {size}: `ingest jars fetch`. Without a network, place in {folder.path}:"
    )
    for row in rows:
        print_page(f"  {row['repository_path']}")
