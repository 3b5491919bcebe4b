"""Hudi tables as Airflow assets, with events that start the DAGs that wait for a table."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow.sdk import Asset, AssetAlias

from ingest.report import TableReport
from ingest.schedule.report import Report


def table_asset(table: str, lake: str = "lake") -> Asset:
    """Return the asset of a table: `hudi://<lake>/<table>`.

    `lake` is any name, or the lake's path (`s3a://bucket/lake`) with its scheme dropped.
    """
    return Asset(uri=f"{_root(lake)}/{table}")


def lake_alias(lake: str = "lake") -> AssetAlias:
    """Return the alias for those tables of a lake that no DAG file names."""
    return AssetAlias(name=_root(lake))


def announce(report: Report, lake: str, outlets: Sequence[object], events: Mapping[Any, Any]) -> None:
    """Add a run's counts to the events of the tables' assets, or of the alias, as far as they are outlets."""
    alias = lake_alias(lake)
    for result in report.tables:
        asset = table_asset(result.table, lake)
        extra = {"run_id": report.run_id, **_counts(result)}
        if asset in outlets:
            events[asset].extra = extra
        elif alias in outlets:
            events[alias].add(asset, extra=extra)


def outlets_of(tables: Iterable[str], lake: str) -> list[Asset | AssetAlias]:
    """Return the tables' assets; the lake's alias if the names are only known at run time."""
    names = list(tables)
    if not names or any("{{" in name for name in names):
        return [lake_alias(lake)]
    return [table_asset(name, lake) for name in names]


def _counts(result: TableReport) -> dict[str, object]:
    """Return the counts for an asset's event."""
    return {
        "outcome": result.outcome,
        "instant": result.instant,
        "read": result.read,
        "upserted": result.applied.upserted,
        "deleted": result.applied.deleted,
        "superseded": result.superseded,
        "rejected": result.rejected,
    }


def _root(lake: str) -> str:
    return "hudi://" + re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", lake).rstrip("/")
