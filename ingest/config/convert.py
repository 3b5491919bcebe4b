"""From parsed TOML to attrs values, strictly; each problem names its dotted key."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
import cattrs
import tomlkit
from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_mapping_structure_fn, override

from ingest.config.rules import WrongValueError, key_of, quoted, suggest, unknown_key, wrong_value

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]


def structure(converter: cattrs.Converter, value: object, target: type[T], *where: str) -> T:
    """Make a value of a class; raises WrongValueError with the dotted key of the first problem."""
    try:
        return converter.structure(value, target)
    except (cattrs.BaseValidationError, WrongValueError) as error:
        steps, cause = next(_causes(error, where))
        raise _problem(steps, cause) from None


def make_converter() -> cattrs.Converter:
    """Make a strict converter: cattrs by itself reads "5" as 5 and 1 as true."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in ((str, "text"), (int, "a whole number"), (bool, "true or false")):
        converter.register_structure_hook(kind, exactly(kind, name))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(_has_origin(Literal), _choice)
    converter.register_structure_hook_func(_has_origin(tuple), _texts)
    converter.register_structure_hook_factory(
        attrs.has, lambda kind: _section(make_dict_structure_fn(kind, converter, **_renamed(kind)))
    )
    converter.register_structure_hook_factory(
        _has_origin(dict), lambda kind: _section(make_mapping_structure_fn(kind, converter))
    )
    return converter


def exactly(kind: type, name: str) -> Hook:
    """Return the hook of a type that is taken as it is."""

    def take(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise wrong_value(value, name)
        return value

    return take


def dotted(*steps: str) -> str:
    """Join the steps of a key as TOML writes it."""
    return ".".join(tomlkit.key(step).as_string() for step in steps)


def _renamed(kind: type[attrs.AttrsInstance]) -> dict[str, Any]:
    """Return overrides for the fields with another TOML key than their name."""
    return {f.name: override(rename=key_of(f)) for f in attrs.fields(kind) if key_of(f) != f.name}


def _has_origin(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _number(value: Any, _: Any) -> float:
    if type(value) not in (int, float):
        raise wrong_value(value, "a number")
    return float(value)


def _choice(value: Any, kind: Any) -> Any:
    allowed = get_args(kind)
    if isinstance(value, str) and value in allowed:
        return value
    raise wrong_value(value, quoted(allowed), suggest(value, allowed) if isinstance(value, str) else "")


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise wrong_value(value, 'a list of text, such as ["id"]')
    return tuple(value)


def _section(structure_section: Hook) -> Hook:
    def check(value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong_value(value, "a section")
        return structure_section(value, kind)

    return check


def _causes(error: BaseException, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], BaseException]]:
    """Walk to the leaves; a problem of a whole section (an unknown key) comes before those of its keys."""
    if not isinstance(error, cattrs.BaseValidationError):
        yield where, error
        return
    for inner in sorted(error.exceptions, key=lambda child: _step(child, error) != ()):
        yield from _causes(inner, (*where, *_step(inner, error)))


def _step(error: BaseException, parent: cattrs.BaseValidationError) -> tuple[str, ...]:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return (key_of(getattr(attrs.fields(parent.cl), note.name)),)
        if isinstance(note, IterableValidationNote):
            return (str(note.index),)
    return ()


def _problem(where: tuple[str, ...], cause: BaseException) -> WrongValueError:
    match cause:
        case ForbiddenExtraKeysError():
            name = min(cause.extra_fields)
            return unknown_key(
                dotted(*where, name), name, [key_of(field) for field in attrs.fields(cause.cl)]
            )
        case KeyError():
            # cattrs notes the attribute, so `where` names it already.
            return WrongValueError(dotted(*where), "is missing")
        case WrongValueError():
            key = ".".join(filter(None, (dotted(*where), cause.key)))
            return WrongValueError(key, cause.problem, cause.todo)
        case _:
            return WrongValueError(dotted(*where), str(cause))
