"""Secret texts, and the names, URLs and files that hold them: never shown."""

import base64
import html
import json
import logging
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import attrs

MASK = "***"

MASKED_NAMES = (
    r"(?i)passw|secret|token|jaas|credential|private|user\.info|(access|account|api)[._-]?key"
    r"|key\.pem|keystore\.key"
)
"""Names of Kafka, Spark and Hadoop properties with secret values.  Spark gets the expression too."""
_SECRET_NAME = re.compile(MASKED_NAMES)
_JAAS_SECRET = re.compile(r"(?:password|secret)\w*\s*=\s*[\"']?([^\"';\s]+)", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)([^/\s]*)@")


@attrs.frozen(repr=False)
class Secret:
    """A text that only `reveal` shows."""

    _text: str

    def reveal(self) -> str:
        """Return the text itself.  Never print or log it."""
        return self._text

    def __repr__(self) -> str:
        return MASK


def spellings(secret: str) -> Iterator[str]:
    """Yield the forms in which a server or a library may repeat a secret, the secret first.

    Of a login `user:password` the password counts, too.
    """
    for plain in dict.fromkeys((secret, unquote(secret), unquote_plus(secret))):
        password = plain.partition(":")[2]
        for text in (plain, password) if password else (plain,):
            yield from _forms(text)


def _forms(text: str) -> Iterator[str]:
    encoded = text.encode(errors="surrogateescape")
    for percent in (quote(encoded, safe=""), quote(encoded), quote_plus(encoded)):
        yield from (percent, re.sub("%..", lambda code: code[0].lower(), percent))
    for coded in (base64.b64encode(encoded).decode(), base64.urlsafe_b64encode(encoded).decode()):
        yield from (coded, coded.rstrip("="))
    yield from (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], html.escape(text))


def looks_secret(name: str) -> bool:
    """Tell whether a property of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def mask_url(text: str) -> str:
    """Replace `user:password@` in one or several URLs."""
    return _USERINFO.sub(f"{MASK}@", text)


def mask_properties(properties: Mapping[str, str]) -> str:
    """Show properties, masking the values of secret names."""
    shown = {name: MASK if looks_secret(name) else mask_url(text) for name, text in properties.items()}
    return repr(shown)


def secrets_in_url(text: str) -> set[str]:
    """Return the `user:password` parts of one or several URLs, and their passwords."""
    parts = {str(part) for part in _USERINFO.findall(text)}
    return parts | {part.partition(":")[2] for part in parts}


def secrets_in_property(name: str, text: str) -> set[str]:
    """Return the secret parts of a property: all of it, or the passwords in a URL or a JAAS line."""
    secrets = secrets_in_url(text)
    if looks_secret(name):
        secrets |= {text, *(str(part) for part in _JAAS_SECRET.findall(text))}
    return secrets


def readable_by_all(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files that every user of this machine can read.  Missing files are left out."""
    return tuple(path for path in paths if path.is_file() and path.stat().st_mode & stat.S_IROTH)


def warn_if_readable(file: Path, secret_keys: Sequence[str]) -> None:
    """Log a warning for secrets in a settings file that everybody may read.  The group is a team's choice."""
    if not secret_keys:
        return
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & stat.S_IROTH:
        logging.getLogger(__name__).warning(
            "%s holds secrets (%s), and every user of this machine can read it (mode %03o): "
            "run `chmod o-r %s`, or keep the secrets in files or variables",
            file, ", ".join(secret_keys), mode, file,
        )  # fmt: skip
