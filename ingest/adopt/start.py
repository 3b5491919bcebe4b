"""The offsets that a table continues from: given by a person, or by HoodieStreamer's checkpoint."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from ingest.errors import TakeoverError
from ingest.kafka.breaks import Watermark
from ingest.kafka.watermarks import fetch_offsets_at
from ingest.names import Partition
from ingest.operations.offsets import moment_of, parse_move
from ingest.settings import KafkaSettings
from ingest.tables import TableConfig

OPTION: Final = "--offsets"
CHECKPOINTS: Final = ("streamer.checkpoint.key.v2", "deltastreamer.checkpoint.key")
"""The keys of HoodieStreamer's checkpoint in a commit's metadata, of newer and older versions
(StreamerCheckpointV2 and V1, Hudi 1.2.0)."""
_CHECKPOINT: Final = re.compile(r"([^,]+)((?:,\d+:\d+)+)", re.ASCII)


@attrs.frozen
class StartOffsets:
    """The next offsets of a table. `high` is the end up to which its rows may already hold changes.

    The first run replays at least up to there, in one commit.
    """

    next: Mapping[Partition, int]
    high: Mapping[Partition, int]
    origin: str


def start_by_option(
    kafka: KafkaSettings, table: TableConfig, text: str, marks: Mapping[Partition, Watermark]
) -> StartOffsets:
    """Parse `--offsets`. The rows may hold any change that the topic has now.  Raises UsageError."""
    moment = moment_of(text, OPTION)
    if moment is None:
        offsets = parse_move(text, {}, marks, is_anew=True, option=OPTION)
    else:
        offsets = fetch_offsets_at(kafka, table.topic, marks, moment)
    return StartOffsets(offsets, {p: mark.end for p, mark in marks.items()}, f"{OPTION} {text}")


def start_by_checkpoint(
    table: TableConfig, commits: Iterable[Mapping[str, str]], marks: Mapping[Partition, Watermark]
) -> StartOffsets:
    """Return the offsets of the newest commit with a checkpoint.

    `commits` are the metadata of commits, newest first.  Raises TakeoverError without a checkpoint, or if it
    is for another topic or has offsets that the topic lacks.
    """
    key, text = next(
        ((key, values[key]) for values in commits for key in CHECKPOINTS if values.get(key)), ("", "")
    )
    if not text:
        problem = f"its commits have no checkpoint of HoodieStreamer ({' or '.join(CHECKPOINTS)})"
        raise TakeoverError(
            table.name, problem, f"Give the offsets to continue from: {OPTION} 0=120,1=earliest"
        )
    match = _CHECKPOINT.fullmatch(text)
    todo = f"Give the offsets to continue from: {OPTION}"
    if match is None:
        raise TakeoverError(table.name, f"{key} is '{text}', not of the form topic,0:12,1:34", todo)
    if match[1] != table.topic:
        problem = f"{key} is of topic {match[1]}, and the table file names {table.topic}"
        raise TakeoverError(table.name, problem, f"Name that topic in the table file. Or: {todo}")
    offsets = dict(_part(part) for part in match[2].removeprefix(",").split(","))
    offsets |= {p: 0 for p in marks if p not in offsets}  # the streamer reads new partitions whole
    for partition, offset in sorted(offsets.items()):
        mark = marks.get(partition)
        if mark is None or not mark.begin <= offset <= mark.end:
            retained = "does not have it" if mark is None else f"has {mark.begin} to {mark.end}"
            problem = f"{key} has offset {offset} of partition {partition}, and the topic {retained}"
            raise TakeoverError(table.name, problem, todo)
    return StartOffsets(offsets, offsets, f"{key} {text}")


def _part(text: str) -> tuple[Partition, int]:
    partition, _, offset = text.partition(":")
    return Partition(int(partition)), int(offset)
