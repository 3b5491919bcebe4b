"""A value of each result class, with all that it can hold, and one with nothing, for `test_json.py`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.adopt.columns import FittedColumn, FittedColumns
from ingest.adopt.plan import Takeover, TakeoverPlan
from ingest.adopt.start import StartOffsets
from ingest.compile.describe import ColumnLine, Description
from ingest.compile.diff import SchemaChange
from ingest.errors import BrokerUnreachableError, RebuildError, TakeoverError
from ingest.hudi.fixed import FixedChange
from ingest.hudi.timeline import findings
from ingest.hudi.timeline.ledger import LedgerEntry, TopicOffsets, commit_metadata
from ingest.hudi.timeline.read_cost import ReadCost
from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile
from ingest.hudi.upkeep.services import Upkeep
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.names import Instant, Partition, SchemaId, Subject, Topic
from ingest.operations.doctor.doctor import Checkup
from ingest.operations.doctor.finding import Finding
from ingest.operations.maintain import Maintained, Maintenance
from ingest.operations.offsets import OffsetMove
from ingest.operations.rebuild.rebuild import Rebuilt
from ingest.operations.rebuild.rebuild_plan import RebuildPlan
from ingest.operations.rejects.rejects import Reject, Rejects
from ingest.operations.rejects.replay import Replayed
from ingest.operations.show import TableView
from ingest.operations.status.connector import Connector
from ingest.operations.status.history import Commit, TableHistory, TableState
from ingest.operations.status.last_verification import LastVerification
from ingest.operations.status.source_ddl import SourceChange
from ingest.operations.status.status import TableStatus
from ingest.operations.table_plan import ColumnChange, TablePlan, VersionPlan
from ingest.operations.verify_files import FilesCheck
from ingest.operations.versions import (
    Comparison,
    CompatibilityReport,
    PlannedChange,
    SubjectCheck,
    SubjectVersion,
)
from ingest.order.batch_counts import BatchCounts
from ingest.registry import CompatibilityResult, Registered
from ingest.report.contract import StepSeconds
from ingest.report.kept_runs import LastRun
from ingest.report.lag import Measures
from ingest.report.notify import Notice
from ingest.report.outcome import RunReport, TableOutcome
from ingest.sql.template import sql
from ingest.sql.types import Simple
from ingest.tables.values import Value
from ingest.verify.result import RowDifference, TableVerification, Verification

START: Final = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)
END: Final = START + timedelta(milliseconds=2004)
TOPIC: Final = Topic("srv.orders")
INSTANT: Final = Instant("20261122010203000")
IDS: Final = (SchemaId(4), SchemaId(1), SchemaId(0))
BROKER: Final = BrokerUnreachableError("broker:9092", "it does not answer")
OFFSETS: Final = {Partition(10): 7, Partition(2): 5}
RANGES: Final = TopicRanges(
    TOPIC, (OffsetRange(TOPIC, Partition(10), 0, 7), OffsetRange(TOPIC, Partition(2), 1, 5))
)
ADDED: Final = SchemaChange("column-added", "phone", "string")
WIDENED: Final = SchemaChange("column-widened", "id", "bigint", "int")
PLANNED: Final = (PlannedChange(ADDED, "evolve", "a new column"),)
COUNTS: Final = BatchCounts(
    upserted=3,
    deleted=1,
    superseded=2,
    ignored={"tombstone": 1, "control": 2},
    rejected=1,
    schema_ids=IDS,
    max_source_ts=END,
    read_bytes=99,
    other_tables={"srv.b": 2, "srv.a": 1},
)
MEASURES: Final = Measures(1.23456, 4, 0.98765, END, START, 2)
STEPS: Final = StepSeconds(0.5, 0.25, 1.0, 2.0, 0.125)
BLANK_OUTCOME: Final = TableOutcome("orders", TOPIC, "idle")
OUTCOME: Final = TableOutcome(
    "orders",
    TOPIC,
    "committed",
    INSTANT,
    RANGES,
    COUNTS,
    (ADDED, WIDENED),
    2,
    MEASURES,
    STEPS,
    without_file=("srv.a",),
    seconds=1.23456,
    error=BROKER,
)
RUN: Final = RunReport("r1", START, END, (OUTCOME, BLANK_OUTCOME), STEPS)
REBUILD: Final = RebuildPlan(
    "orders",
    (FixedChange("target.mode", "append", "upsert"), FixedChange("key.columns", "", "")),
    900_000,
    1000,
    10,
)
TAKEOVER: Final = TakeoverPlan(
    "orders",
    "/lake/old",
    900_000,
    FittedColumns(
        (FittedColumn("id", Simple("bigint"), sql("id"), "wider", "ID", "int", mask="hash"),),
        (FittedColumn("note", Simple("string"), sql("null"), "null"),),
        ("old",),
    ),
    StartOffsets(OFFSETS, OFFSETS, "its commits"),
    "0/1",
    5,
    6,
    ("a note",),
)
REJECT: Final = Reject(
    "srv.orders", 0, 5, END, None, "decode", "no schema", "r1", START, None, None, b"k", None, (("h", b"v"),)
)
ENTRY: Final = LedgerEntry(
    "r1",
    TOPIC,
    OFFSETS,
    OFFSETS,
    IDS[:2],
    {"read": 5, "upserted": 3, "ignored.tombstone": 1},
    note="moved",
    max_source_ms=1_795_309_323_004,
    instant=INSTANT,
    committed_ms=1_795_309_325_000,
    started_ms=1_795_309_323_500,
)
FILES: Final = (WrittenFile(INSTANT, "g1", "a.parquet", 10),)
COMMIT: Final = Commit(
    StoredCommit("/lake/orders", INSTANT, "20261122010205250", "UPSERT", commit_metadata(ENTRY), FILES),
    {Partition(10): 1, Partition(2): 0},
)
FOREIGN: Final = Commit(StoredCommit("/lake/orders", INSTANT, INSTANT, "DELETE_PARTITION", {}, ()))
TWO_TOPICS: Final = attrs.evolve(ENTRY, other_topics={Topic("srv.more"): TopicOffsets(OFFSETS, OFFSETS)})
OF_TWO: Final = Commit(
    StoredCommit("/lake/orders", INSTANT, INSTANT, "UPSERT", commit_metadata(TWO_TOPICS), FILES)
)
OLD: Final = Registered(Subject("srv.orders-value"), 1, SchemaId(1), '"int"')
NEW: Final = Registered(Subject("srv.orders-value"), 2, SchemaId(4), '"long"')
ANSWER: Final = SubjectCheck(
    NEW.subject, NEW, "BACKWARD", CompatibilityResult(compatible=False, messages=("no",)), PLANNED
)
VERIFIED: Final = LastVerification(
    finished_at=END,
    outcome="different",
    mode="checksums",
    source="postgres",
    position="0/1",
    scope=("id < 5",),
    source_rows=5,
    table_rows=4,
    counts={"missing": 1},
    columns={"note": 1},
    compared=3,
    uncompared={"blob": "its type"},
    seconds=1.235,
    note="a note",
    failed_at=START,
    error="no answer",
)
LAST_RUN: Final = LastRun("r1", START, END, "failed", "no answer", 1)
STATUS: Final = TableStatus(
    "orders",
    TOPIC,
    "/lake/orders",
    ENTRY,
    4,
    5,
    1,
    7.5,
    (SourceChange(END, "ALTER", "", ("id", "note")), SourceChange(START, "CREATE", "create table", ("id",))),
    "too few buckets",
    LAST_RUN,
    VERIFIED,
    60.0,
    cost=ReadCost(2, 3_000_000, 20_000_000),
    ahead=RebuildError("orders", "it differs", "Rebuild"),
    connector=Connector("srv", None, has_heartbeats=True, limit_s=60.0),
    seconds=1.2,
    error=BROKER,
)
DIFFERENCES: Final = (
    RowDifference({"id": "1"}, "missing", (), {"id": "1"}, {}),
    RowDifference({"id": "2"}, "extra", (), {}, {"id": "2"}),
    RowDifference({"id": "3"}, "different", ("note",)),
)
DIFFERS: Final = TableVerification(
    "orders", "postgres", "checksums", "0/1", 5, 4, {"missing": 1, "extra": 1}, 1, {"note": 1},
    ("id", "note"), {"blob": "its type"}, DIFFERENCES, 2, "a note", ("insert into signals",), 1,
    "srv.orders", seconds=1.23456,
)  # fmt: skip
UPKEEP: Final = Upkeep(1, 2, 3, 4, 5)
PLAN: Final = TablePlan(
    "orders",
    TOPIC,
    "commit",
    is_new=True,
    ranges=RANGES,
    counts=COUNTS,
    versions=(
        VersionPlan(2, IDS[0], waiting=True, changes=PLANNED, problem="p", level="FULL", refusal="no"),
        VersionPlan(1, IDS[1], waiting=False, deleted=True),
    ),
    columns=(ColumnChange("phone", "string"), ColumnChange("id", "bigint", "int")),
    changes=(ADDED, WIDENED),
    refused={IDS[0]: "rejected"},
    rewrites=("id",),
    makes_index=True,
    warning="soon",
    rebuild=REBUILD,
    is_new_topic=True,
    without_file=("srv.a",),
    error=TakeoverError("orders", "it differs", "Stop"),
)

RESULTS: Final[dict[str, Any]] = {
    "run": RUN,
    "run-of-topics": attrs.evolve(OUTCOME, topics=(OUTCOME, BLANK_OUTCOME), ranges=None),
    "last-run": LAST_RUN,
    "notice": Notice("failure", RUN, ((OUTCOME, "2026-11-22T01:02:03Z"), (BLANK_OUTCOME, ""))),
    "notice-of-a-problem": Notice("failure", RUN, (), "no settings"),
    "takeover": Takeover("orders", "planned", TAKEOVER, seconds=1.23456),
    "takeover-blank": Takeover("orders", "idle", note="nothing", error=BROKER, instant=INSTANT),
    "maintenance": Maintenance(
        "r1",
        START,
        END,
        (
            Maintained("orders", upkeep=UPKEEP, seconds=1.23456),
            Maintained("a"),
            Maintained("b", error=BROKER),
            Maintained("c", upkeep=Upkeep()),
        ),
        is_dry=True,
    ),
    "checkup": Checkup((Finding("broker", "ok", "fine"), Finding("source", "problem", "down", "Start it"))),
    "checkup-healthy": Checkup(()),
    "plan": PLAN,
    "plan-of-topics": attrs.evolve(PLAN, topics=(PLAN,), ranges=None),
    "plan-blank": TablePlan("orders", TOPIC, "idle"),
    "comparison": Comparison(OLD, NEW, PLANNED),
    "version": SubjectVersion(2, IDS[0], deleted=True, first=INSTANT, last=INSTANT, commits=3),
    "version-blank": SubjectVersion(2, IDS[0]),
    "compatibility": CompatibilityReport((ANSWER, ANSWER), (BROKER,), ("id",)),
    "compatibility-of-one": CompatibilityReport(
        (SubjectCheck(NEW.subject, NEW, "NONE", CompatibilityResult(compatible=True), ()),), ()
    ),
    "offsets": OffsetMove("orders", TOPIC, "earliest", OFFSETS, {Partition(2): 0}),
    "replayed": Replayed("orders", COUNTS, INSTANT, (ADDED,)),
    "replayed-blank": Replayed("orders"),
    "rejects": Rejects("orders", "/lake/orders/rejects", 2, 1, {"decode": 2}, (REJECT,)),
    "rejects-blank": Rejects("orders", "/lake/orders/rejects"),
    "show": TableView("orders", Path("/t/orders.toml"), "/lake/orders", (Value("max", 0.00012, "file"),)),
    "show-rows": TableView("orders", Path("/t/orders.toml"), "/lake/orders", (), ({"id": "1", "n": None},)),
    "show-no-rows": TableView("orders", Path("/t/orders.toml"), "/lake/orders", (), ()),
    "rebuilt": Rebuilt("orders", "rebuilt", "topic", REBUILD, INSTANT, 5, seconds=1.23456),
    "rebuilt-blank": Rebuilt("orders", "failed", "table", error=BROKER),
    "history": TableHistory("orders", TOPIC, "/lake/orders", (COMMIT, FOREIGN, OF_TWO), START, is_cut=True),
    "history-blank": TableHistory("orders", TOPIC, "/lake/orders", ()),
    "state": TableState("orders", "/lake/orders", END, COMMIT, 5),
    "state-in-a-catalog": TableState("orders", "/lake/orders", END, COMMIT, 5, "db"),
    "status": STATUS,
    "status-of-topics": attrs.evolve(STATUS, topics=(STATUS, attrs.evolve(STATUS, last=None))),
    "status-blank": TableStatus("orders", TOPIC, "/lake/orders"),
    "verification-kept": VERIFIED,
    "verification-kept-blank": LastVerification(
        finished_at=END, outcome="temporary", mode="counts", source="postgres"
    ),
    "files": FilesCheck(
        "orders",
        "/lake/orders",
        ENTRY,
        3,
        findings.Inventory(2, 99, ()),
        5,
        1,
        (findings.Finding("files", "a file is missing", "Restore it"),),
    ),
    "files-blank": FilesCheck("orders", "/lake/orders", error=BROKER),
    "verification": Verification(START, END, (DIFFERS, TableVerification("blank"))),
    "verification-of-topics": attrs.evolve(DIFFERS, topics=(DIFFERS,), error=BROKER),
    "description": Description(
        "data",
        "postgres",
        (
            ColumnLine("id", "int", nullable=False, semantic="", spark="int", unit="ms", loses="x"),
            ColumnLine("b", "fixed", nullable=True, semantic="s", spark="", problem="unknown"),
        ),
    ),
    "description-blank": Description("key", "", ()),
}
"""By name: values of the classes whose JSON people read."""
