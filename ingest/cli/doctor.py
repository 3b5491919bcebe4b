"""`ingest doctor`: examine a deployment."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_json, print_table, print_text, spin
from ingest.cli.page import CommandPage, Json
from ingest.errors import SettingsError
from ingest.operations.doctor import doctor as doctors
from ingest.settings import tables_folder

if TYPE_CHECKING:
    from ingest.operations.doctor.doctor import Checkup

app = CommandPage(name="doctor", help_format="markdown")
_COUNTED: Final = ("warning", "problem")


@app.default
def doctor(
    *,
    spark: Annotated[
        bool,
        Parameter(
            negative="",
            help="Start Spark, lock the lake with it, and ask the databases of [sources].",
        ),
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Examine the deployment: settings, secrets, Java, jars, memory, disk, lake, clock, registry, broker.

    One line for each, with the remedy. Nothing is changed. The lake gets a scratch file, which is deleted
    again. Exit code 0: a run can start, perhaps with warnings. 1: something needs a remedy.

    Example: `ingest doctor --spark`
    """
    if spark:
        claim_stdout()
    checkup = examine(deployment, spark=spark)
    if json:
        print_json(checkup.to_json())
    else:
        show_checkup(checkup)
    return 0 if checkup.is_healthy else 1


def examine(deployment: Deployment, *, spark: bool = False) -> "Checkup":
    """Examine a deployment, also one with broken settings."""
    with spin("examining the deployment") as show:

        def note(name: str) -> None:
            show(f"examining {name}")

        try:
            session = deployment.open()
        except SettingsError as error:
            return doctors.examine_machine(error, _tables_of(deployment), note)
        with session:
            return session.doctor(spark=spark, note=note)


def _tables_of(deployment: Deployment) -> Path:
    try:
        return tables_folder(deployment.settings, deployment.tables)
    except SettingsError:  # the settings file does not exist
        return (deployment.tables or Path("tables")).absolute()


def show_checkup(checkup: "Checkup") -> None:
    """Print the findings, a line each, and their number."""
    rows = [
        (finding.level, finding.check, " -> ".join(filter(None, (finding.text, finding.todo))))
        for finding in checkup.findings
    ]
    print_table(("state", "check", "finding -> remedy"), rows, elastic=("finding -> remedy",))
    print_text()
    counts = [
        f"{count} {level}{'s' if level in _COUNTED and count > 1 else ''}"
        for level, count in checkup.counts().items()
        if count
    ]
    print_text(f"{len(checkup.findings)} findings: {', '.join(counts)}.")
