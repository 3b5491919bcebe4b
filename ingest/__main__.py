"""The script `ingest`, `python -m ingest`, and the application file for spark-submit."""

import sys

from ingest.errors import UsageError


def main() -> None:
    """Run the command line.  If its packages are missing, say what to install, and exit with 2."""
    try:
        from ingest.cli import app  # noqa: PLC0415  the base package lacks cyclopts
    except ModuleNotFoundError as error:
        if (error.name or "ingest").partition(".")[0] == "ingest":
            raise
        missing = UsageError(
            f"the command line needs the package {error.name}, which is not installed",
            "pip install 'hudi-cdc-ingest[spark]' to run tables, or 'hudi-cdc-ingest[cli]' without Spark",
        )
        sys.stderr.write(f"ingest: {missing}\n")
        sys.exit(missing.exit_code)
    app.main()


if __name__ == "__main__":
    main()
