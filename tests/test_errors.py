"""Errors: their fields survive a process border, their texts are sentences, their codes the contract's."""

import pickle
import re
from typing import Any

import attrs
import pytest

from ingest import errors
from ingest.errors import IngestError, PermanentError, RetryableError, UserError


def concrete(base: type[IngestError]) -> list[type[IngestError]]:
    """Find the error classes that are raised: those with fields."""
    results = [kind for child in base.__subclasses__() for kind in (child, *concrete(child))]
    return [kind for kind in results if attrs.has(kind)]


CLASSES = concrete(IngestError)


def value_of(field: "attrs.Attribute[Any]", text: str, number: int = 3) -> Any:
    """Return something for a field."""
    return (
        number
        if field.type is int
        else (f"{text.removesuffix('.')}.",)
        if "tuple" in str(field.type)
        else text
    )


def example(kind: type[IngestError], text: str = "found this") -> IngestError:
    """Construct an error with something in each of its fields."""
    return kind(*(value_of(field, text) for field in attrs.fields(kind)))


def fields_of(error: IngestError) -> tuple[Any, ...]:
    """Return an error's fields: exceptions are equal by identity."""
    return attrs.astuple(error)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("text", ["found this", "found this."])
def test_the_text_is_made_of_sentences(kind: type[IngestError], text: str) -> None:
    """Each part ends with one full stop, whether its maker wrote it or not."""
    message = str(example(kind, text))
    assert message.endswith(".")
    assert not message.endswith("..")
    assert ": ." not in message


@pytest.mark.parametrize("kind", CLASSES)
def test_the_text_is_whole_without_the_optional_parts(kind: type[IngestError]) -> None:
    """Fields with a default are optional."""
    given = [3 if f.type is int else "found" for f in attrs.fields(kind) if f.default is attrs.NOTHING]
    assert str(kind(*given)).endswith(".")


@pytest.mark.parametrize("kind", CLASSES)
def test_every_field_is_in_the_text(kind: type[IngestError]) -> None:
    """The message shows every field."""
    values = {f.name: value_of(f, f"<{f.name}>", i + 41) for i, f in enumerate(attrs.fields(kind))}
    message = str(kind(*values.values()))
    shown = {name: value[0] if isinstance(value, tuple) else str(value) for name, value in values.items()}
    assert [name for name, text in shown.items() if text not in message and name != "count"] == []


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_pickles_with_its_fields(kind: type[IngestError]) -> None:
    """Workers and schedulers hand exceptions on by pickle."""
    error = example(kind)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert type(again) is kind
    assert fields_of(again) == fields_of(error)
    assert str(again) == str(error)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_decides_the_exit_code(kind: type[IngestError]) -> None:
    """One of the three bases, and its code."""
    codes = {PermanentError: 1, UserError: 2, RetryableError: 75}
    assert [code for base, code in codes.items() if issubclass(kind, base)] == [kind.exit_code]


def test_a_raised_error_keeps_its_cause() -> None:
    """Frozen values, yet Python may still hang a cause and a traceback on them."""
    cause = KeyError("x")
    with pytest.raises(errors.SchemaError) as caught:
        raise errors.SchemaError("s v1", "$.a", "is odd") from cause
    assert caught.value.__cause__ is cause
    assert str(caught.value) == "s v1 $.a: is odd."


def test_a_count_of_records_reads_as_more_like_the_first() -> None:
    """The first record is named, the others are counted."""
    text = str(errors.DecodeError("t", 2, 17, "key: null", 5))
    assert text.startswith("t-2-17: key: null (4 more like it in this range).")
    assert "more like it" not in str(errors.DecodeError("t", 2, 17, "key: null"))
    assert "range). 5 of 9 are too many. Nothing" in str(
        errors.DecodeError("t", 2, 17, "key: null", 5, "5 of 9 are too many")
    )


def test_a_very_long_part_of_a_message_is_cut_in_its_middle() -> None:
    """Names of schemas and answers of servers may have any length."""
    error = errors.UnmappedTypeError("subject v1", "$.a", "x" * 200_000, "bytes")
    assert len(str(error)) < 2500
    assert str(error).startswith("subject v1 $.a: 'xxx")
    assert re.search(r"x … \(198\d{3} characters\) … x", str(error))
    assert str(error).endswith("add a row to typemap/rows.py.")
