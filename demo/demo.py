"""The main job on real local parts: `make demo`.  Types a user's commands, and shows what they say.

Everything lies in `.demo/`, made again each time.  The servers go down at the end, whatever happened.
"""  # noqa: INP001  a script

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from ingest.errors import IngestError
from ingest.local.servers import find_addresses

CHECKOUT = Path(__file__).parents[1]
HOME = CHECKOUT / ".demo"
BIN = Path(sys.executable).parent
FIXTURE = "../registry_fixtures/sqlserver"
EVOLVED = "sqs_testDB_dbo_customers"

SETTINGS = """\
[registry]
url = "{registry_url}"

[kafka]
bootstrap_servers = "{bootstrap_servers}"

[lake]
path = "lake"
"""

NEXT = """\
  cd .demo && source ../.venv/bin/activate
  ingest local up               # the same servers again, with what they held
  ingest run                    # nothing is new: every table idle, no Spark job
  ingest status                 # last commits, lag, schema ids
  ingest show sqs_testDB_dbo_orders --key region=CN --key order_no=9000000045
  ingest pages --to www         # a page for each table, and www/index.html
  ingest schema show sqs.testDB.dbo.all_types-value
  ingest offsets set sqs_testDB_dbo_orders --to earliest
  ingest run                    # reads orders again from the start: the same rows
  python {look} {fixture}
  less tables/sqs_testDB_dbo_orders.toml report.json
  ingest local down
"""


class CommandFailedError(Exception):
    """A command of the demo left with an exit code other than 0."""


def main() -> int:
    """Run the demo; the exit code is 0 only if every command's was."""
    signal.signal(signal.SIGTERM, _leave)
    started = time.monotonic()
    try:
        try:
            start_afresh()
            play()
        finally:
            end_servers()
    except (CommandFailedError, IngestError) as error:
        return fail(f"{error}. The servers' logs: {HOME}/.ingest/local/logs", 1)
    except KeyboardInterrupt:
        return fail("interrupted", 130)
    say(f"Done in {time.monotonic() - started:.0f} s. Try next (all stays in .demo/ until the next demo)")
    sys.stdout.write(NEXT.format(look="../demo/look.py", fixture=FIXTURE))
    return 0


def start_afresh() -> None:
    """Clear away an earlier demo, and servers that a killed one left behind."""
    if HOME.exists():
        run("ingest local down", quiet=True)
        shutil.rmtree(HOME)
    HOME.mkdir()


def play() -> None:
    """Go through the scenes."""
    say("A Kafka broker and a schema registry, real ones, on free ports of this machine.")
    command("ingest local up")
    write_settings()
    command("cat ingest.toml")
    say("What Debezium wrote for four SQL Server tables, up to the day their schemas changed.")
    command(f"ingest local produce {FIXTURE} --versions 1")
    say("Registry subjects become table files.")
    command("ingest onboard 'sqs*'")
    say("Topics become Hudi tables, each in one commit with its offsets. Spark starts cold: 10 to 20 s.")
    command("ingest run")
    sys.stdout.write("(superseded: by a newer change of the same key; ignored: tombstones and the like)\n")
    say("The source went on: columns were added, widened and dropped in the midst of the changes.")
    command(f"ingest local produce {FIXTURE}")
    command("ingest run --report report.json")
    show_report()
    say("The tables, read with plain Spark; _cdc_schema_id is the registry id of a row's last writer.")
    command(f"python ../demo/look.py {FIXTURE}")


def write_settings() -> None:
    """Write the deployment's one settings file."""
    addresses = find_addresses(HOME / ".ingest" / "local")
    text = SETTINGS.format(registry_url=addresses.registry_url, bootstrap_servers=addresses.bootstrap_servers)
    (HOME / "ingest.toml").write_text(text, encoding="utf-8")


def show_report() -> None:
    """Print one table's part of the run report."""
    report: dict[str, Any] = json.loads((HOME / "report.json").read_text(encoding="utf-8"))
    (table,) = (item for item in report["tables"] if item["table"] == EVOLVED)
    say(f"report.json on {EVOLVED}, for programs:")
    for key, value in table.items():
        sys.stdout.write(f"  {json.dumps(key)}: {json.dumps(value)}\n")


def end_servers() -> None:
    """Stop the servers; a further Ctrl-C does not keep them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if HOME.exists():
        say("The servers go down.")
        command("ingest local down")


def command(line: str) -> None:
    """Show a command as one would type it in `.demo/`, and run it."""
    sys.stdout.write(f"{bold('$ ' + line)}\n")
    sys.stdout.flush()
    run(line)


def run(line: str, *, quiet: bool = False) -> None:
    """Run a command in `.demo/`, with this environment's programs."""
    name, *arguments = shlex.split(line)
    program = str(BIN / name) if name in ("ingest", "python") else name
    out = subprocess.DEVNULL if quiet else None
    done = subprocess.run([program, *arguments], cwd=HOME, env=environment(), stdout=out, check=False)
    if done.returncode:
        raise CommandFailedError(f"`{line}` left with exit code {done.returncode}")


def environment() -> dict[str, str]:
    """Return the environment without settings of `ingest`: those of the demo's file count."""
    return {name: value for name, value in os.environ.items() if not name.startswith("INGEST_")}


def say(text: str) -> None:
    """Say what comes next."""
    sys.stdout.write(f"\n{bold('## ' + text)}\n")
    sys.stdout.flush()


def bold(text: str) -> str:
    """Return the text in bold, on a terminal."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def fail(text: str, exit_code: int) -> int:
    """Say what went wrong."""
    sys.stdout.flush()
    sys.stderr.write(f"\ndemo: {text}\n")
    return exit_code


def _leave(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
