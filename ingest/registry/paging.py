"""Lists that a server hands out page by page."""

from collections.abc import Callable, Hashable
from typing import Final, TypeVar

Entry = TypeVar("Entry", bound=Hashable)

MOST_PAGES: Final = 1_000
MOST_ENTRIES: Final = 1_000_000
"""More than any registry has."""


class EndlessListError(Exception):
    """A list that is longer than its reader takes."""


def every_page(
    fetch: Callable[[int], tuple[Entry, ...]], *, smallest_page: int = 1, most: int = MOST_ENTRIES
) -> tuple[Entry, ...]:
    """Fetch pages by offset until one adds nothing, and return their entries without repetitions.

    Many servers truncate a list without saying so.  A short page does not end the list, because a server's
    limit may be below the requested one.  A server that ignores the offset answers the same page again, which
    ends it too.  No server cuts below `smallest_page`, so a shorter page is the last one.  Raises
    `EndlessListError` for more than `most` entries.
    """
    entries: dict[Entry, None] = {}
    for _ in range(MOST_PAGES):
        offset = len(entries)
        page = fetch(offset)
        entries.update(dict.fromkeys(page))
        if len(entries) == offset or len(page) < smallest_page:
            return tuple(entries)
        if len(entries) > most:
            break
    raise EndlessListError(f"lists more than {most:,} entries or {MOST_PAGES:,} pages")
