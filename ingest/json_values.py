"""JSON: one converter for the values that `ingest` prints, stores and reads again.

Reaches no pyspark: Airflow imports it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, get_origin

import attrs

from ingest.errors import IngestError
from ingest.lazy import LazyModule
from ingest.moments import to_iso

if TYPE_CHECKING:
    import cattrs
    from cattrs import gen
else:
    cattrs, gen = LazyModule("cattrs"), LazyModule("cattrs.gen")

T = TypeVar("T")


class JsonValue:
    """A value with a JSON object: its fields, or the keys that `json_keys` names, in this order.

    Keys stand in one text, `key=path` or only the path, whose last name is the key then.  A path is dotted:
    `last.instant` is null if `last` is None.  `path?` leaves out an empty value, `path|null` writes null.
    """

    __slots__ = ()
    json_keys: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        content = {}
        for key in _keys_of(type(self)):
            value = reduce(_attribute, key.path, self)
            if value or not key.is_optional:
                content[key.name] = unstructure((value or None) if key.is_nullable else value)
        return content


@attrs.frozen
class _Key:
    """A key, and the way to its value."""

    name: str
    path: tuple[str, ...]
    is_optional: bool
    is_nullable: bool

    @classmethod
    def of(cls, text: str) -> "_Key":
        """Read a word of `json_keys`."""
        name, _, path = text.rpartition("=")
        bare = path.removesuffix("?").removesuffix("|null")
        parts = tuple(bare.split("."))
        return cls(name or parts[-1], parts, path.endswith("?"), path.endswith("|null"))


def _keys_of(kind: type[JsonValue]) -> tuple[_Key, ...]:
    fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(cast("type[attrs.AttrsInstance]", kind))
    return _read(kind.json_keys or " ".join(field.name for field in fields))


@cache
def _read(words: str) -> tuple[_Key, ...]:
    return tuple(map(_Key.of, words.split()))


def _attribute(value: Any, name: str) -> Any:
    return None if value is None else getattr(value, name)


def unstructure(value: Any) -> Any:
    """Return a value, or a container of values, as JSON."""
    return _converter().unstructure(value)


def structure(content: Any, kind: type[T]) -> T:
    """Read a value from JSON, and ignore keys that this version does not know.

    Raises `cattrs.BaseValidationError`, `TypeError` or `ValueError`.
    """
    return _converter().structure(content, kind)


def _mapping(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Write keys as text, and numbers, such as partitions, in their order."""
    is_numbered = all(isinstance(key, int) for key in values)
    pairs = sorted(values.items()) if is_numbered else values.items()
    return {str(key): unstructure(value) for key, value in pairs}


def _reader_of(kind: type[JsonValue], converter: "cattrs.Converter") -> Callable[[Any, Any], Any]:
    fields = {key.path[0]: gen.override(rename=key.name) for key in _keys_of(kind) if len(key.path) == 1}
    return gen.make_dict_structure_fn(kind, converter, **fields)  # type: ignore[arg-type]


def _is_a(base: type) -> Callable[[Any], bool]:
    def check(kind: Any) -> bool:
        plain = get_origin(kind) or kind
        return isinstance(plain, type) and issubclass(plain, base)

    return check


@cache
def _converter() -> "cattrs.Converter":
    converter = cattrs.Converter(unstruct_collection_overrides={tuple: list})
    converter.register_unstructure_hook(datetime, to_iso)
    converter.register_unstructure_hook(bytes, bytes.hex)
    converter.register_structure_hook(datetime, lambda text, _: datetime.fromisoformat(text))
    writers: dict[type, Callable[[Any], Any]] = {
        Path: str,
        IngestError: str,
        Mapping: _mapping,
        JsonValue: lambda value: value.to_json(),
    }
    for base, write in writers.items():
        converter.register_unstructure_hook_func(_is_a(base), write)
    converter.register_structure_hook_factory(_is_a(JsonValue), _reader_of)
    return converter
