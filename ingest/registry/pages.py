"""Read a registry's lists page by page: many servers truncate a list without saying so."""

from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T", bound=str | int)

PAGE: Final = 20_000
"""Entries to ask for at once, the most that Confluent's server gives (schema-registry #3455).

Without a limit Apicurio gives 1,000 subjects (#3118); it takes any limit.
"""

CUT_VERSIONS: Final = 500
"""Versions after which Apicurio 3.3.3 cuts a subject's list, whatever offset is asked for (#9851)."""

SMALLEST_PAGE: Final = 10
"""Versions in the shortest page that any server may hand out: most subjects then take one request."""


MOST_PAGES: Final = 1_000
MOST_ENTRIES: Final = 1_000_000


class EndlessListError(Exception):
    """A list that does not end where every registry's does."""


def every_page(fetch: Callable[[int], tuple[T, ...]], *, smallest_page: int = 1) -> tuple[T, ...]:
    """Fetch pages by offset until one adds nothing, and return their entries without repetitions.

    Short pages end nothing: a server's own limit may be below the one asked for.  A server that ignores the
    offset answers the same page again, which ends it too.  No server cuts below `smallest_page`: a shorter
    page is the last one.  Raises `EndlessListError`.
    """
    entries: dict[T, None] = {}
    for _ in range(MOST_PAGES):
        offset = len(entries)
        page = fetch(offset)
        entries.update(dict.fromkeys(page))
        if len(entries) == offset or len(page) < smallest_page:
            return tuple(entries)
        if len(entries) > MOST_ENTRIES:
            break
    raise EndlessListError(f"lists more than {MOST_ENTRIES:,} entries or {MOST_PAGES:,} pages")
