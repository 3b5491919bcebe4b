"""`ingest signal`: ask a Debezium connector for a snapshot."""

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import attrs
from cyclopts import App, Group, Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.options import Deployment
from ingest.cli.output import print_json, print_text
from ingest.cli.page import Json
from ingest.errors import UsageError
from ingest.operations.signal import Signal, SignalRequest, sources_of
from ingest.operations.statement import statement
from ingest.settings import SourceSettings

app = App(name="signal", help_format="markdown", help="Ask a Debezium connector for a snapshot.")

_CHANNEL = Group("Channel", sort_key=80)
_NAMES = Group("Names that the topics do not contain", sort_key=85)


def _option(group: Group, text: str) -> Parameter:
    return Parameter(help=text, group=group, show_default=False, negative=())


@Parameter(name="*")
@attrs.frozen
class Channel:
    """The way of the signal to the connector."""

    sql: Annotated[bool, _option(_CHANNEL, "Print the statement to run in the source (the default).")] = False
    signal_table: Annotated[
        str | None,
        _option(
            _CHANNEL,
            "The connector's signal.data.collection, for the statement (else [sources.NAME] signal_table).",
        ),
    ] = None
    kafka: Annotated[
        str | None, _option(_CHANNEL, "Send the signal to this topic, the connector's signal.kafka.topic.")
    ] = None
    dry_run: Annotated[bool, _option(_CHANNEL, "Show what --kafka would send.")] = False

    def check(self) -> None:
        """Refuse options that contradict each other.  Raises `UsageError`."""
        if self.kafka is not None and (self.sql or self.signal_table is not None):
            raise UsageError("--kafka excludes --sql and --signal-table", "Give only one of them")
        if self.kafka is None and self.dry_run:
            raise UsageError("--dry-run needs --kafka", "Without --kafka the statement is only printed")

    def of_source(self, sources: Sequence[SourceSettings]) -> "Channel":
        """Complete the channel by the settings of the sources.  A signal topic of theirs is only shown.

        Raises `UsageError` without a destination, or with several.
        """
        if self.kafka is not None or self.signal_table is not None:
            return self
        every = {(source.signal_table, "" if self.sql else source.signal_topic) for source in sources}
        found = every - {("", "")}
        if len(found) != 1:
            problem = "several" if found else "no"
            todo = "Name the source's table with --signal-table, or the connector's topic with --kafka"
            raise UsageError(f"the signal has {problem} destination{'s' * bool(found)} in [sources]", todo)
        ((table, topic),) = found
        return Channel(signal_table=table) if table else Channel(kafka=topic, dry_run=True)


@Parameter(name="*")
@attrs.frozen
class Names:
    """Names that the topics do not contain."""

    collection: Annotated[
        tuple[str, ...],
        _option(
            _NAMES,
            "Debezium's name of the table, one for each TABLE: a regular expression. With a dot inside "
            'a part, all parts are in double quotes: "dbo"."my.table".',
        ),
    ] = ()
    database: Annotated[
        str | None, _option(_NAMES, "Database of the tables: Oracle, and SQL Server before Debezium 2.0.")
    ] = None
    prefix: Annotated[str | None, _option(_NAMES, "The connector's topic.prefix.")] = None


@app.command
def execute_snapshot(
    *tables: Annotated[str, table_parameter("Tables to read again, all of one connector.")],
    type: Annotated[  # noqa: A002  Debezium's word, and the flag's
        Literal["incremental", "blocking"],
        Parameter(help="incremental: in chunks, while the stream continues. blocking: the stream pauses."),
    ] = "incremental",
    condition: Annotated[
        str | None,
        Parameter(help="Rows to read, as SQL after WHERE. A blocking snapshot takes the whole SELECT."),
    ] = None,
    channel: Channel = Channel(),
    names: Names = Names(),
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Ask for a snapshot of tables: the connector sends their rows again, as events of their topics.

    Prints only the statement to run in the source, for the signal table of [sources]. With --kafka
    sends the signal. A table name with other characters than letters, digits, '_' and '-' needs
    --collection, because topics replace them.

    Example: `ingest signal execute-snapshot server1_testdb_dbo_orders --signal-table testDB.dbo.signals`
    """
    request = SignalRequest(
        kind="execute-snapshot", tables=tables, type=type, condition=condition, collections=names.collection,
        database=names.database, prefix=names.prefix,
    )  # fmt: skip
    return _signal(request, channel, deployment, as_json=json)


@app.command
def stop_snapshot(
    *tables: Annotated[str, table_parameter("Tables to stop reading, by default all of the connector.")],
    channel: Channel = Channel(),
    names: Names = Names(),
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Stop an incremental snapshot, entirely or for some of its tables.

    Example: `ingest signal stop-snapshot --kafka server1-signal --prefix server1`
    """
    request = SignalRequest(
        kind="stop-snapshot", tables=tables, collections=names.collection, database=names.database,
        prefix=names.prefix,
    )  # fmt: skip
    return _signal(request, channel, deployment, as_json=json)


def _signal(request: SignalRequest, channel: Channel, deployment: Deployment, *, as_json: bool) -> int:
    channel.check()
    with deployment.open() as session:
        signal = session.signal(request, None if channel.dry_run else channel.kafka)
        channel = channel.of_source(sources_of(session.settings.sources, signal.connector))
    if channel.kafka is not None:
        _show_message(signal, channel.kafka, sent=not channel.dry_run, as_json=as_json)
        return 0
    text = statement(signal, channel.signal_table or "")
    if as_json:
        print_json({"id": signal.id, "type": signal.kind, "data": signal.data, "statement": text})
    else:
        sys.stdout.write(f"{text}\n")  # not folded: it is pasted into a database client
    return 0


def _show_message(signal: Signal, topic: str, *, sent: bool, as_json: bool) -> None:
    key, value = signal.connector.prefix, signal.message()
    if as_json:
        print_json({"id": signal.id, "topic": topic, "key": key, "value": value, "sent": sent})
        return
    print_text(f"{'Sent' if sent else 'Would send'} to topic {topic}, key {key}:")
    sys.stdout.write(f"{value}\n")
