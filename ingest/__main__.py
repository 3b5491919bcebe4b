"""`python -m ingest`, and the application file for spark-submit."""

from ingest.cli.app import main

if __name__ == "__main__":
    main()
