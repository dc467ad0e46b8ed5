"""The three kinds of files about one experience: its record, its status, its tombstone.

A record is the experience without trust changes and usage, written once. A status holds what changes. A tombstone
says that a record was deleted and keeps it from coming back.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ufo_experience.errors import CorruptError, SchemaError
from ufo_experience.schema import Experience, Instant, Model, Text, Trust, Usage, validate
from ufo_experience.store.codec import decode, encode


class Status(Model):
    """What changes about a record. `id` guards against a file that was copied to another name."""

    id: str
    trust: Trust
    usage: Usage = Usage()


class Tombstone(Model):
    """A deletion."""

    id: str
    removed_at: Instant
    reason: Text = ""


def encode_record(experience: Experience) -> bytes:
    """The bytes of a record; defaults are left out, except for trust, which is that at creation.

    Raises:
        SchemaError: over a limit.
    """
    payload = experience.model_dump(mode="json", exclude={"usage"}, exclude_defaults=True)
    return encode(payload | {"trust": experience.trust.value}, file=experience.id)


def decode_record(data: bytes, id: str, file: str) -> dict[str, Any]:
    """The payload of a record file that must be about `id`. Raises as `codec.decode`."""
    payload = decode(data, file=file)
    _check_id(payload, id, file)
    if "usage" in payload:
        raise SchemaError("does not belong into a record", file=file, field="usage")
    return payload


def experience_of(payload: dict[str, Any], status: Status | None, file: str) -> Experience:
    """An experience from its record and status. Raises `SchemaError`."""
    changes = {} if status is None else {"trust": status.trust, "usage": status.usage}
    return validate(Experience, payload | changes, file=file)


def encode_status(status: Status) -> bytes:
    """The bytes of a status file."""
    return encode(status.model_dump(mode="json"))


def decode_status(data: bytes, id: str, file: str) -> Status:
    """The status in a file that must be about `id`. Raises as `codec.decode`."""
    payload = decode(data, file=file)
    _check_id(payload, id, file)
    return validate(Status, payload, file=file)


def encode_tombstone(id: str, reason: str, removed_at: datetime) -> bytes:
    """The bytes of a tombstone."""
    tombstone = validate(Tombstone, {"id": id, "reason": reason, "removed_at": removed_at})
    return encode(tombstone.model_dump(mode="json"))


def decode_tombstone(data: bytes, id: str, file: str) -> Tombstone:
    """The tombstone in a file that must be about `id`. Raises as `codec.decode`."""
    payload = decode(data, file=file)
    _check_id(payload, id, file)
    return validate(Tombstone, payload, file=file)


def _check_id(payload: dict[str, Any], id: str, file: str) -> None:
    if payload.get("id") != id:
        raise CorruptError("the file's name is not the id inside", file=file)
