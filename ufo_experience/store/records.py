"""A record as a file: JSON that a person reads, with a digest that tells whether somebody has edited it.

    records/outlook/send-an-email-to-name-about-text-7f3a91c2.json

The name holds words of the task and no value.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.request import Request, application_key
from ufo_experience.schema import MAX_RECORD_BYTES, SCHEMA_VERSION, UNKNOWN_FIELD, Experience, validate
from ufo_experience.store.files import is_device
from ufo_experience.store.strict_json import parse

SUFFIX = ".json"
MAX_FILE_BYTES = 4 * MAX_RECORD_BYTES  # indented, and with what a person adds
_WIDTH = 120  # characters of a line in a record
_NAME_BYTES = 80  # of the words in a file name: a path stays under 260 characters, as Windows wants it
_ORDER = ("id", "state", "outcome", "action", "slots", "digests", "preconditions", "avoid_when", "trust", "created_at")


def encode(experience: Experience) -> bytes:
    """The bytes of a record file. What could not be read back raises `DataError`: too large, too deep, not JSON."""
    data = experience.model_dump(mode="json", exclude={"usage"}, exclude_defaults=True)
    data |= {"trust": experience.trust.value, "schema_version": SCHEMA_VERSION}
    ordered = {name: data[name] for name in _ORDER if name in data}
    try:
        encoded = f"{_for_people(sealed({**ordered, **data}))}\n".encode()
    except ValueError as error:  # NaN, half of a surrogate pair
        raise DataError(f"not JSON: {error}", file=experience.id, code="E_SCHEMA") from error
    if len(canonical(data)) > MAX_RECORD_BYTES:
        raise DataError(f"larger than {MAX_RECORD_BYTES} bytes", file=experience.id, code="E_SCHEMA")
    parse(encoded, file=experience.id)
    return encoded


def _for_people(value: Any, depth: int = 0) -> str:
    """JSON with what fits in one line in one line: a short step is read at a glance."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, (dict, list)) or len(flat) + depth <= _WIDTH:
        return flat
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_for_people(one, depth + 1)}" for key, one in value.items()]
    else:
        parts = [_for_people(one, depth + 1) for one in value]
    indent = " " * (depth + 1)
    inside = ",\n".join(indent + part for part in parts)
    return f"{flat[0]}\n{inside}\n{indent[1:]}{flat[-1]}"


def decode(data: bytes, file: str) -> tuple[Experience, str, bool]:
    """The record in a file's bytes, the digest of its content, and whether it is as it was written."""
    payload = parse(data, file=file) if data.strip(b"\0 \t\r\n") else None
    if not isinstance(payload, dict):
        raise DataError("no record: empty or torn", file=file, code="E_CORRUPT")
    version = payload.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        message = f"schema {version} is newer than {SCHEMA_VERSION}"
        raise DataError(message, file=file, field="schema_version", code="E_VERSION")
    bare, content, whole = unsealed(payload)
    try:
        return validate(Experience, bare, file=file), content, whole
    except DataError as error:
        if error.code == UNKNOWN_FIELD:
            message = "not known here: a newer version wrote it"
            raise DataError(message, file=file, field=error.field, code="E_VERSION") from error
        raise


def place_of(experience: Experience) -> tuple[str, str]:
    """The folder and the words of the file name of a record, for people; no value of the task is in them."""
    state = experience.state
    request = Request.parse(state.request or state.task, state.application)
    return _words(application_key(state.application)) or "no-application", _words(request.template) or "task"


def _words(text: str) -> str:
    """Letters and digits of a text joined by hyphens, cut between words to what every file system takes."""
    plain = unicodedata.normalize("NFC", text).casefold()
    words = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    name = "-".join(words).encode()
    if len(name) > _NAME_BYTES:
        name = name[: _NAME_BYTES + 1].rpartition(b"-")[0] or name[:_NAME_BYTES]
    found = name.decode(errors="ignore")
    return f"{found}-" if is_device(found) else found


def canonical(payload: Any) -> bytes:
    """JSON that is the same for the same content, whatever the order and spacing of its file."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def _digest(payload: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(payload)).hexdigest()[:32]


def sealed(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with its digest, which tells later whether somebody has edited it, or a byte of it has flipped."""
    return {**payload, "sha256": _digest(payload)}


def unsealed(payload: Mapping[str, Any]) -> tuple[dict[str, Any], str, bool]:
    """The payload itself, its digest (an approval is bound to it), and whether it is as it was sealed."""
    bare = {name: value for name, value in payload.items() if name != "sha256"}
    content = _digest(bare)
    return bare, content, payload.get("sha256") == content
