"""Hudi tables as Airflow assets, with events that start the DAGs that wait for a table."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow.sdk import Asset, AssetAlias, get_current_context

from ingest.moments import to_iso
from ingest.report.contract import TableReport
from ingest.schedule.report import Report


def table_asset(table: str, lake: str = "lake") -> Asset:
    """Return the asset of a table: `hudi://<lake>/<table>`.

    `lake` is any name, or the lake's path (`s3a://bucket/lake`) with its scheme dropped.
    """
    return Asset(uri=f"{_root(lake)}/{table}")


def lake_alias(lake: str = "lake") -> AssetAlias:
    """Return the alias for those tables of a lake that no DAG file names."""
    return AssetAlias(name=_root(lake))


def has_changed(asset: Asset) -> bool:
    """Return whether a table has a commit of which no earlier event of its asset knew.

    For a task with `inlets=[asset]`, in a DAG scheduled on the asset.  Compares the times of last commits,
    not counts of rows: if a task is killed after its commit, the next run finds the table idle, and its event
    has the commit's time.  True in a run that no event started.
    """
    context = get_current_context()
    started_by = context["triggering_asset_events"]
    if not any(started_by.values()):
        return True
    events = sorted(started_by.get(asset, ()), key=lambda event: event.timestamp)
    if not events:
        return False
    first, latest = events[0].timestamp, (events[-1].extra or {}).get("last_commit_at")
    earlier = context["inlet_events"][asset].before(first.isoformat()).ascending(ascending=False).limit(2)
    before = next((event for event in earlier if event.timestamp < first), None)
    return latest is not None and (before is None or latest != (before.extra or {}).get("last_commit_at"))


def announce(report: Report, lake: str, outlets: Sequence[object], events: Mapping[Any, Any]) -> None:
    """Add a run's counts to the events of the tables' assets, or of the alias, if they are outlets."""
    alias = lake_alias(lake)
    for result in report.tables:
        asset = table_asset(result.table, lake)
        extra = {"run_id": report.run_id, **_counts(result)}
        if asset in outlets:
            events[asset].extra = extra
        elif alias in outlets:
            events[alias].add(asset, extra=extra)


def outlets_of(tables: Iterable[str], lake: str) -> list[Asset | AssetAlias]:
    """Return the tables' assets, or the lake's alias if the names are only known at run time."""
    names = list(tables)
    if not names or any("{{" in name for name in names):
        return [lake_alias(lake)]
    return [table_asset(name, lake) for name in names]


def _counts(result: TableReport) -> dict[str, object]:
    """Return the counts for an asset's event, and the time of the table's last commit, of any run."""
    committed_at = result.metrics.last_commit_at
    return {
        "outcome": result.outcome,
        "instant": result.instant,
        "last_commit_at": committed_at and to_iso(committed_at),
        "read": result.read,
        "upserted": result.applied.upserted,
        "deleted": result.applied.deleted,
        "superseded": result.superseded,
        "rejected": result.rejected,
    }


def _root(lake: str) -> str:
    return "hudi://" + re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", lake).rstrip("/")
