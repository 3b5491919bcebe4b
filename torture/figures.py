"""The counts and failures of a harness, in one form for all of them."""

from collections import Counter, defaultdict

import attrs


@attrs.define
class Figures:
    """Counts by name, counts of kinds by title, and every wrong thing in a sentence."""

    counts: Counter[str] = attrs.Factory(Counter)
    kinds: defaultdict[str, Counter[str]] = attrs.Factory(lambda: defaultdict(Counter))
    wrong: list[str] = attrs.Factory(list)

    def show(self, sentence: str) -> None:
        """Print a sentence, and below it how often each kind was met."""
        print(sentence)
        for title, counts in self.kinds.items():
            print(f"  {title}: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")
