"""Compares a table with the expected rows at its offsets."""

from typing import Any

from torture.scene import Offsets, Scene


def differences(scene: Scene, holds: dict[str, Any], *, at_end: bool = False) -> list[str]:
    """Compare rows and rejects of a table with those of its offsets; `at_end` it has to have read all."""
    offsets: Offsets = {int(partition): offset for partition, offset in holds["offsets"].items()}
    wanted = scene.wanted(offsets)
    wrong = [f"stopped at {offsets}, expected {scene.ends}"] if at_end and offsets != scene.ends else []
    results: dict[int, Any] = {}
    for row in holds["rows"]:
        key = int(row["id"])
        if key in results:
            wrong.append(f"row {key} is there twice")
        results[key] = row
    wrong += [f"row {key} is missing" for key in wanted.rows.keys() - results.keys()]
    wrong += [f"row {key} is one too many" for key in results.keys() - wanted.rows.keys()]
    for key in wanted.rows.keys() & results.keys():
        expected = {name: text for name, text in wanted.rows[key].items() if text is not None}
        actual = {name: text for name, text in results[key].items() if text is not None}
        if expected != actual:
            wrong.append(f"row {key} at {offsets}: expected {expected}, found {actual}")
    places = [tuple(hold) for hold in holds["rejects"]]
    if sorted(places) != sorted(wanted.rejects):
        wrong.append(f"rejects at {offsets}: expected {sorted(wanted.rejects)}, found {sorted(places)}")
    return wrong
