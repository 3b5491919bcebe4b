"""Limits of tables that ran out of memory: the bad records are found, and all others are read."""

from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.kafka.breaks import Consumed, Watermark
from ingest.kafka.ranges import TopicRanges, plan_ranges
from ingest.names import Partition, Subject, Topic
from ingest.run.work.memory import ReadLimits
from ingest.tables import Rejects, Subjects, TableConfig
from tests.feeds import feed

TABLE = TableConfig("t", Topic("t"), "sqlserver", Subjects(value=Subject("v")))
TABLES = st.fixed_dictionaries({"sizes": st.lists(st.integers(0, 40), min_size=1, max_size=3)}).flatmap(
    lambda drawn: st.tuples(
        st.just(drawn["sizes"]),
        st.sets(st.tuples(st.integers(0, len(drawn["sizes"]) - 1), st.integers(0, 39)), max_size=6),
    )
)


@attrs.define
class Reader:
    """Reads partitions of some sizes; a range with a bad record, or of too many, kills the JVM."""

    sizes: list[int]
    bad: set[tuple[int, int]]
    folder: Path
    table: TableConfig = TABLE
    fits: int = 1_000_000
    heavy: set[tuple[int, int]] = attrs.Factory(set)
    """Records of which one fits at a time."""
    at: dict[Partition, int] = attrs.Factory(dict)
    read: list[tuple[int, int]] = attrs.Factory(list)
    skipped: list[tuple[int, int]] = attrs.Factory(list)
    commits: int = 0
    deaths: int = 0

    def run(self) -> bool:
        """Read to the ends, as a run does; False if it gives up."""
        limits = ReadLimits(self.folder)
        while True:
            if self._until_death(limits):
                return True
            self.deaths += 1
            if not limits.lower(self.table):
                return False

    def _until_death(self, limits: ReadLimits) -> bool:
        while not (ranges := self._ranges(limits)).is_empty:
            limits.begin(feed(self.table), ranges)
            limit = limits.of(feed(self.table))
            records = [(part.partition, n) for part in ranges.ranges for n in range(part.start, part.end)]
            if limit and not limit.offsets:
                self.skipped += records
            elif (
                len(records) > self.fits
                or len(self.heavy.intersection(records)) > 1
                or self.bad.intersection(records)
            ):
                return False
            else:
                self.read += records
            self.commits += 1
            self.at = ranges.end_offsets()
            limits.end(feed(self.table))
        limits.end(feed(self.table))
        return True

    def _ranges(self, limits: ReadLimits) -> TopicRanges:
        marks = {Partition(n): Watermark(0, size) for n, size in enumerate(self.sizes)}
        consumed = Consumed("t", self.at or None)
        return limits.cut(feed(self.table), plan_ranges(TABLE.topic, consumed, marks), {})


@given(TABLES)
@example(([40], {(0, 17)}))
def test_bad_records_are_skipped_and_all_others_are_read(
    drawn: tuple[list[int], set[tuple[int, int]]],
) -> None:
    """Each record is read or skipped once; a bad one costs as many deaths as halvings, and two more."""
    sizes, spoilt = drawn
    bad = {(partition, n) for partition, n in spoilt if n < sizes[partition]}
    with TemporaryDirectory() as folder:
        reader = Reader(sizes, bad, Path(folder))

        assert reader.run()

        assert not list(Path(folder).iterdir())
    assert set(reader.skipped) == bad
    every = [(partition, n) for partition, size in enumerate(sizes) for n in range(size)]
    assert sorted(reader.read + reader.skipped) == every
    assert reader.deaths <= len(bad) * (log2(max(1, len(every))) + 2)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.integers(1, 40))
@example([40, 40], 40)
def test_a_size_that_fits_is_kept_to_the_end(sizes: list[int], fits: int) -> None:
    """A death for each halving, and one for each try of more; commits of at least half of what fits."""
    count = sum(sizes)
    with TemporaryDirectory() as folder:
        reader = Reader(sizes, set(), Path(folder), fits=fits)
        assert reader.run()
        assert not list(Path(folder).iterdir())
    assert len(reader.read) == count
    assert not reader.skipped
    assert reader.commits <= count / ((fits + 1) // 2) + 1
    assert reader.deaths <= log2(max(1, count / fits)) + 1 + reader.commits / 8


def test_a_small_limit_grows_again(tmp_path: Path) -> None:
    """Two large records fit one by one only.  Those after them are not read one by one."""
    reader = Reader([100_000], set(), tmp_path, heavy={(0, 70_000), (0, 70_001)})
    assert reader.run()
    assert len(reader.read) == 100_000
    assert reader.deaths < 20
    assert reader.commits < 200


def test_a_policy_or_too_many_bad_records_end_the_run_before_the_next_one(tmp_path: Path) -> None:
    """The record stays unread; the next run comes to it at once."""
    bad = {(0, n) for n in range(5, 20)}
    some = Reader([20], bad, tmp_path / "some", attrs.evolve(TABLE, rejects=Rejects(min_rows=3)))
    none = Reader([20], bad, tmp_path / "none", attrs.evolve(TABLE, rejects=Rejects(too_large="fail")))

    assert (some.run(), some.skipped) == (False, [(0, 5), (0, 6), (0, 7)])
    assert (none.run(), none.skipped) == (False, [])
    deaths = none.deaths
    assert (none.run(), none.deaths, none.skipped) == (False, deaths + 1, [])
    none.bad, commits = set(), none.commits
    assert none.run()
    assert (len(none.read), none.commits - commits) == (20, 2), "the record, and all others at once"


def test_a_table_that_shares_the_heap_skips_nothing(tmp_path: Path) -> None:
    """Its tasks failed for want of memory, which other tables may have used."""
    limits = ReadLimits(tmp_path)
    ranges = plan_ranges(TABLE.topic, Consumed("t"), {Partition(0): Watermark(7, 8)})
    limits.begin(feed(TABLE), ranges)

    assert not limits.lower(TABLE, is_alone=False)
    assert limits.step(TABLE) == "reading t-0 offset 7, a single record"
    assert limits.cut(feed(TABLE), ranges, {}) == ranges


def test_a_range_that_cannot_be_cut_is_tried_once(tmp_path: Path) -> None:
    """After a deliberate move back, a run reads up to the offsets applied before, whatever the limit."""
    limits = ReadLimits(tmp_path)
    ranges = plan_ranges(TABLE.topic, Consumed("t"), {Partition(0): Watermark(0, 8)})
    for expected in (True, False):
        limits.begin(feed(TABLE), limits.cut(feed(TABLE), ranges, {Partition(0): 8}))
        assert limits.lower(TABLE) is expected


def test_another_record_is_not_skipped_in_place_of_the_one_that_was_found(tmp_path: Path) -> None:
    """A run that was killed before the skip leaves its note, and a person may move the offsets then."""
    limits = ReadLimits(tmp_path)
    one = plan_ranges(TABLE.topic, Consumed("t"), {Partition(0): Watermark(7, 8)})
    limits.begin(feed(TABLE), one)
    assert limits.lower(TABLE)
    moved = plan_ranges(TABLE.topic, Consumed("t"), {Partition(0): Watermark(3, 8)})

    assert ReadLimits(tmp_path).cut(feed(TABLE), one, {}) == one
    later = ReadLimits(tmp_path)
    assert later.cut(feed(TABLE), moved, {}) == moved
    assert later.of(feed(TABLE)) is None
