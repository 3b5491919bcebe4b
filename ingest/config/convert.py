"""Convert parsed TOML to attrs values, strictly, and report every problem with its dotted key."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import attrs
import cattrs
import tomlkit
from cattrs.gen import make_dict_structure_fn, make_mapping_structure_fn, override

from ingest.config.rules import (
    WrongValueError,
    file_fields,
    key_of,
    quoted,
    suggest,
    unknown_key,
    wrong_value,
)
from ingest.moments import DURATIONS, parse_duration

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]
Seconds = Annotated[float, "seconds"]
"""A number of seconds, for which a file may also have a duration, such as "15 min"."""


def structure(converter: cattrs.Converter, value: object, target: type[T], *where: str) -> T:
    """Make a value of a class.

    Raises WrongValueError for the first problem, with its dotted key.  Its `further` holds all others.
    """
    try:
        return converter.structure(value, target)
    except (cattrs.BaseValidationError, WrongValueError):
        first, *further = _problems(converter, value, target, where)
        first.further = tuple(further)
        raise first from None


def make_converter() -> cattrs.Converter:
    """Make a strict converter: cattrs by itself reads "5" as 5 and 1 as true."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in ((str, "text"), (int, "a whole number"), (bool, "true or false")):
        converter.register_structure_hook(kind, exactly(kind, name))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(lambda kind: kind == Seconds, _seconds)
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
    """Return overrides for the fields with another TOML key than their name, or without one."""
    in_file = {field.name for field in file_fields(kind).values()}
    return {
        f.name: override(rename=key_of(f), omit=f.name not in in_file)
        for f in attrs.fields(kind)
        if key_of(f) != f.name or f.name not in in_file
    }


def _has_origin(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _number(value: Any, _: Any) -> float:
    if type(value) not in (int, float):
        raise wrong_value(value, "a number")
    return float(value)


def _seconds(value: Any, kind: Any) -> float:
    seconds = parse_duration(value) if isinstance(value, str) else _number(value, kind)
    if seconds is None:
        raise wrong_value(value, f"a number of seconds, or {DURATIONS}")
    return seconds


def _choice(value: Any, kind: Any) -> Any:
    allowed = get_args(kind)
    if any(type(value) is type(choice) and value == choice for choice in allowed):
        return value
    texts = [choice for choice in allowed if isinstance(choice, str)]
    names = quoted(texts) if texts else ", ".join(map(str, allowed))
    raise wrong_value(value, names, suggest(value, texts) if isinstance(value, str) else "")


def _texts(value: Any, kind: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise wrong_value(value, 'a list of text, such as ["id"]')
    of_text, *_ = get_args(kind)
    return tuple(_choice(text, of_text) if get_origin(of_text) is Literal else text for text in value)


def _section(structure_section: Hook) -> Hook:
    def check(value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong_value(value, "a section")
        return structure_section(value, kind)

    return check


def _problems(
    converter: cattrs.Converter, value: Any, kind: Any, where: tuple[str, ...]
) -> Iterator[WrongValueError]:
    """Find every problem of a value, part by part, because a conversion ends at its first problem."""
    if isinstance(value, dict) and attrs.has(kind):
        yield from _problems_of_fields(converter, value, kind, where)
    elif isinstance(value, dict) and _has_origin(dict)(kind):
        for name, inner in value.items():
            yield from _problems(converter, inner, get_args(kind)[1], (*where, name))
    else:
        yield from _problems_of_whole(converter, value, kind, where)


def _problems_of_fields(
    converter: cattrs.Converter,
    value: dict[str, Any],
    kind: type[attrs.AttrsInstance],
    where: tuple[str, ...],
) -> Iterator[WrongValueError]:
    """Find unknown keys and the problems of each key, or else the problems of the keys together."""
    fields = file_fields(kind)
    problems = [
        unknown_key(dotted(*where, name), name, list(fields)) for name in sorted(value.keys() - fields)
    ]
    for name, field in fields.items():
        if name in value:
            inner = tuple(_problems(converter, value[name], field.type, (*where, name)))
            problems += inner or _broken_rules(converter, value[name], field, where)
        elif field.default is attrs.NOTHING:
            problems.append(WrongValueError(dotted(*where, name), "is missing"))
    yield from problems or _problems_of_whole(converter, value, kind, where)


def _problems_of_whole(
    converter: cattrs.Converter, value: Any, kind: Any, where: tuple[str, ...]
) -> Iterator[WrongValueError]:
    try:
        converter.structure(value, kind)
    except (cattrs.BaseValidationError, WrongValueError) as error:
        yield _placed(_leaf(error), where)


def _broken_rules(
    converter: cattrs.Converter, value: Any, field: "attrs.Attribute[Any]", where: tuple[str, ...]
) -> Iterator[WrongValueError]:
    """Apply a field's rule, which an instance applies only if all fields have their types."""
    if field.validator is None:
        return
    try:
        field.validator(None, field, converter.structure(value, field.type or object))
    except WrongValueError as error:
        yield _placed(error, where)


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, cattrs.BaseValidationError):
        error = error.exceptions[0]
    return error


def _placed(error: BaseException, where: tuple[str, ...]) -> WrongValueError:
    if not isinstance(error, WrongValueError):
        return WrongValueError(dotted(*where), str(error))
    key = ".".join(filter(None, (dotted(*where), error.key)))
    return WrongValueError(key, error.problem, error.todo)
