"""MANIFEST.json: what made a generation, and size, SHA-256 and CRC-32 of each of its files. It carries its own SHA-256.

Reading is strict to the byte: what differs from how it was written is damage, whatever it would mean.
"""

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ufo_experience.errors import CorruptError, DataError, FormatVersionError
from ufo_experience.fileio.strict_json import parse

# 1 lacks the terms of runs (`document.run_term`), 2 has a weight of each term that nobody used, 3 lacks checksums
FORMAT = 4
MAX_BYTES = 2**20

_HASH = "sha256"
_HASH_LINE = re.compile(rb'\n "sha256": "([0-9a-f]{64})",')  # of the manifest itself: those of its files stand deeper


# names of files come from a database, too, and are never paths
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$")]


class FileEntry(BaseModel):
    """Size in bytes, SHA-256 and CRC-32 of one file."""

    model_config = ConfigDict(extra="forbid")

    bytes: int
    sha256: str
    crc32: int | None = None  # an index of an earlier format has none


class Calibration(BaseModel):
    """The threshold measured for an embedder, and on what; `lexical_threshold` is the one of words alone."""

    model_config = ConfigDict(extra="forbid")

    embedder: str
    threshold: float
    precision: float
    recall: float
    pairs: int
    lexical_threshold: float | None = None


class Manifest(BaseModel):
    """What a generation is made of; `mtimes` (in the file: `stamps`) are those of the shards it was read from."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    format: int = FORMAT
    generation: int = 0
    store_id: str
    embedder: str
    dim: int
    template: str
    engine: str
    records: int
    ids_digest: str
    created_at: str
    mtimes: dict[str, int] = Field(alias="stamps")
    versions: dict[str, str]
    calibration: Calibration | None = None
    files: dict[FileName, FileEntry] = {}


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest file."""
    return _signed(manifest.model_dump(by_alias=True))


def decode(data: bytes, file: str) -> Manifest:
    """The manifest in the bytes of a file.

    Raises:
        CorruptError: these are not the bytes that were written.
        FormatVersionError: a newer version wrote them.
    """
    try:
        line = _HASH_LINE.search(data)
        if line is None or sha256(data[: line.start()] + data[line.end() :]).hexdigest().encode("ascii") != line[1]:
            raise CorruptError("bytes differ from their hash", file=file)
        values = parse(data, file=file)
        values.pop(_HASH)
        if isinstance(values.get("format"), int) and values["format"] > FORMAT:
            raise FormatVersionError(f"index format {values['format']} is newer than {FORMAT}", file=file)
        return Manifest.model_validate(values)
    except (CorruptError, FormatVersionError):
        raise
    except (DataError, ValidationError) as error:
        raise CorruptError("not a readable manifest", file=file) from error


def ids_digest(ids: Iterable[str] | NDArray[np.bytes_]) -> str:
    """SHA-256 over sorted ids, given as text, or faster as one array."""
    if isinstance(ids, np.ndarray):
        in_order = ids if np.all(ids[:-1] <= ids[1:]) else np.sort(ids)
        lines = np.full((len(ids), ids.itemsize + 1), ord("\n"), np.uint8)  # an id fills its place
        lines[:, :-1] = np.ascontiguousarray(in_order).view(np.uint8).reshape(len(ids), ids.itemsize)
        return sha256(lines.tobytes()[:-1]).hexdigest()
    return sha256("\n".join(sorted(ids)).encode("ascii")).hexdigest()


def _signed(values: Mapping[str, Any]) -> bytes:
    return _text({**values, _HASH: sha256(_text(values)).hexdigest()})


def _text(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, sort_keys=True, indent=1) + "\n").encode("ascii")
