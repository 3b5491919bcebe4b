"""Hudi tables as Airflow's assets: what a run of a table tells the DAGs that wait for it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow.sdk import Asset, AssetAlias

from ingest.schedule.report import Report


def table_asset(table: str, lake: str = "lake") -> Asset:
    """Return the asset of a table: `hudi://<lake>/<table>`.

    `lake` is any name, or the lake's path (`s3a://bucket/lake`), whose scheme is left out.
    """
    return Asset(uri=f"{_root(lake)}/{table}")


def lake_alias(lake: str = "lake") -> AssetAlias:
    """Return the alias under which a lake's tables are announced whose names no DAG file holds."""
    return AssetAlias(name=_root(lake))


def announce(report: Report, lake: str, outlets: Sequence[object], events: Mapping[Any, Any]) -> None:
    """Put a run's counts into the events of those tables' assets that are outlets, or below the alias."""
    alias = lake_alias(lake)
    for result in report.tables:
        asset = table_asset(result.table, lake)
        extra = {"run_id": report.run_id, **result.counts()}
        if asset in outlets:
            events[asset].extra = extra
        elif alias in outlets:
            events[alias].add(asset, extra=extra)


def outlets_of(tables: Iterable[str], lake: str) -> list[Asset | AssetAlias]:
    """Return the tables' assets; the lake's alias where names are known at run time alone."""
    names = list(tables)
    if not names or any("{{" in name for name in names):
        return [lake_alias(lake)]
    return [table_asset(name, lake) for name in names]


def _root(lake: str) -> str:
    return "hudi://" + re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", lake).rstrip("/")
