"""The position of a change in its source's order, worked out from the source block by hand."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Source = Mapping[str, Any]
Position = tuple[Any, ...]
LSN: Final = re.compile("[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}|0{1,21}")
FIRST_LSN: Final = "00000000:00000000:0000"
SCN: Final = re.compile("[0-9]{1,20}")
LCR: Final = re.compile("[0-9a-f]{1,80}")
VERSION: Final = re.compile(r"\d+\.\d+(\..*)?", re.DOTALL)
BY_COMMIT: Final = (2, 5)
"""Oracle's connector gives each event its own commit SCN from this version on."""


class Misplaced(Exception):  # noqa: N818  it is no failure
    """A source block has no place in the order."""


def position(dialect: str, op: str, source: Source, offset: int) -> Position:
    """Return the sort key of a change at an offset; raises `Misplaced`."""
    return (*_POSITIONS[dialect](op, source, offset), offset)


def _sqlserver(op: str, source: Source, _: int) -> Position:
    lsns = [_text(source, name, LSN) for name in ("commit_lsn", "change_lsn")]
    rank = "0" if op == "r" and lsns[0] is None else "1"
    return (
        rank,
        *((lsn or FIRST_LSN).zfill(len(FIRST_LSN)) for lsn in lsns),
        _number(source, "event_serial_no"),
    )


def _postgres(op: str, source: Source, _: int) -> Position:  # noqa: ARG001  one signature
    commit, lsn = _sequence(source.get("sequence"))
    lsn = source.get("lsn") if lsn is None else lsn
    if lsn is None or lsn < 0:
        raise Misplaced("lsn")
    return ("1", lsn if commit is None else commit, lsn)


def _sequence(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    try:
        commit, lsn = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise Misplaced("sequence") from error
    return _item(commit), _item(lsn)


def _item(item: Any) -> int | None:
    if item is None:
        return None
    if isinstance(item, bool) or not re.fullmatch("[0-9]{1,19}", str(item)) or int(item) >= 2**63:
        raise Misplaced("sequence")
    return int(item)


def _oracle(op: str, source: Source, offset: int) -> Position:
    scn, commit = (_text(source, name, SCN) for name in ("scn", "commit_scn"))
    lcr = _text(source, "lcr_position", LCR)
    if scn is None and commit is None:
        raise Misplaced("scn")
    version = _text(source, "version", VERSION)
    is_early = version is None or tuple(map(int, version.split(".")[:2])) < BY_COMMIT
    own, last = (int(text or 0) for text in (scn, commit))
    if is_early and op == "t":
        own = max(own, last)
    first = 0 if is_early else int(commit or scn or 0)
    in_kafka = offset if is_early and op != "t" else 0
    return ("2", f"{first:020}", in_kafka, f"{own:020}", _number(source, "txSeq"), (lcr or "").zfill(80))


def _mysql(op: str, source: Source, _: int) -> Position:  # noqa: ARG001  one signature
    file = source.get("file") or ""
    number = file.rpartition(".")[2]
    if file and (not re.fullmatch("[0-9]{1,19}", number) or int(number) >= 2**63):
        raise Misplaced("file")
    if source.get("pos") is None:
        raise Misplaced("pos")
    return ("1", int(number or 0), _number(source, "pos"), _number(source, "row"))


def _cdl(op: str, source: Source, _: int) -> Position:  # noqa: ARG001  one signature
    if source.get("lsn") is None:
        raise Misplaced("lsn")
    return ("1", _number(source, "lsn"))


def _by_kafka(op: str, source: Source, offset: int) -> Position:  # noqa: ARG001  one signature
    return ("1",)


_POSITIONS: Final[Mapping[str, Callable[[str, Source, int], Position]]] = {
    "sqlserver": _sqlserver,
    "postgres": _postgres,
    "oracle": _oracle,
    "mysql": _mysql,
    "mongodb": _by_kafka,
    "cdl": _cdl,
}


def _text(source: Source, name: str, pattern: re.Pattern[str]) -> str | None:
    if source.get(name) is None:
        return None
    text = str(source[name])  # in JSON it may be a number, which counts as its text
    if not pattern.fullmatch(text):
        raise Misplaced(name)
    return text


def _number(source: Source, name: str) -> int:
    number = source.get(name)
    if number is not None and number < 0:
        raise Misplaced(name)
    return number or 0
