"""The three kinds of files about one experience: its record, its status, its tombstone.

A record is the experience without trust changes and usage, written once. A status holds what changes. A tombstone
says that a record was deleted and keeps it from coming back.

A status names the SHA-256 of the record it is about: an approval holds for these bytes and no others. With a signer
(see `signer.py`) both are signed, and what is not counts as quarantined.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from ufo_experience.errors import ConflictError, CorruptError, FormatVersionError, SchemaError
from ufo_experience.ids import content_hash
from ufo_experience.redact import redact_text
from ufo_experience.schema import (
    SCHEMA_VERSION,
    UNKNOWN_FIELD,
    Experience,
    Instant,
    Model,
    Text,
    Trust,
    Usage,
    Verdict,
    validate,
)
from ufo_experience.store.codec import decode, encode, hash_in
from ufo_experience.store.folder.signing import FIELD, Signer

_M = TypeVar("_M", bound=Model)


class Status(Model):
    """What changes about a record. `id` guards against a file that was copied to another name."""

    id: str
    trust: Trust
    usage: Usage = Usage.model_construct()
    verdict: Verdict | None = None
    content: str = ""  # hash of the record; none is named by a status that takes trust away
    hmac: str = ""


class Tombstone(Model):
    """The note that a record was deleted, which keeps it from coming back."""

    id: str
    removed_at: Instant
    reason: Text = ""


@dataclass(frozen=True)
class CleanRecord:
    """A record on its way into a store, with the data that is stored of it; `clean_record` makes it."""

    experience: Experience
    data: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        """Goes to another process as its data."""
        return _clean_record_of, (self.data,)

    def with_trust(self, trust: Trust) -> CleanRecord:
        """The same, trusted so from the start."""
        return CleanRecord(self.experience.model_copy(update={"trust": trust}), {**self.data, "trust": trust.value})


def _clean_record_of(data: dict[str, Any]) -> CleanRecord:
    return CleanRecord(validate(Experience, data), data)


def clean_record(experience: Experience) -> CleanRecord:
    """A record redacted for a store.

    Every record passes here before it is stored, be it in another process: nothing a caller left in it gets further.
    Defaults are left out of the data, except for trust, which is that at creation.
    """
    from ufo_experience.redact import redact_record  # what only reads does without

    clean = redact_record(experience)
    data = clean.model_dump(mode="json", exclude={"usage"}, exclude_defaults=True)
    return CleanRecord(clean, {**data, "trust": experience.trust.value})


def experience_in(record: Experience | CleanRecord) -> Experience:
    """The record itself."""
    return record.experience if isinstance(record, CleanRecord) else record


def encode_record(record: Experience | CleanRecord, signer: Signer | None = None) -> bytes:
    """The bytes of a record, which is redacted here unless that was done.

    Raises:
        SchemaError: over a limit.
    """
    clean = record if isinstance(record, CleanRecord) else clean_record(record)
    return encode(signer.signed(clean.data) if signer else clean.data, file=clean.experience.id)


def decode_record(data: bytes, id: str, file: str) -> dict[str, Any]:
    """The payload of a record file that must be about `id`. Raises as `codec.decode`."""
    payload = decode(data, file=file)
    _check_id(payload, id, file)
    if "usage" in payload:
        raise SchemaError("does not belong into a record", file=file, field="usage")
    return payload


def experience_of(payload: dict[str, Any], status: Status | None, file: str) -> Experience:
    """An experience from its record and status. Raises `SchemaError`, `FormatVersionError`."""
    changes = {} if status is None else {"trust": status.trust, "usage": status.usage}
    bare = {name: value for name, value in payload.items() if name != FIELD}
    experience = _validate(Experience, bare | changes, file)
    if status is None or status.verdict is None:
        return experience
    return experience.model_copy(update={"outcome": status.verdict.over(experience.outcome)})


def fingerprint(experience: Experience) -> str:
    """SHA-256 (hex) of a record as it is now: content, outcome and trust. Its use is left out, which changes by itself.

    Given back as `expected` it makes sure that what is changed is what somebody looked at.
    """
    seen = experience.model_dump(mode="json", exclude={"usage"}, exclude_defaults=True)
    return content_hash({**seen, "trust": experience.trust.value})


def check_expected(experience: Experience, expected: str | None) -> None:
    """Raise `ConflictError` unless the record is still the one with this fingerprint (None: any)."""
    if expected is not None and fingerprint(experience) != expected:
        raise ConflictError(f"{experience.id} was changed meanwhile: look at it again")


def verify_signature(data: bytes, payload: dict[str, Any], status: Status | None, signer: Signer | None) -> str | None:
    """Why record (its bytes and payload) and status may not be taken at their word; None when they may.

    A signed status about these very bytes is the owner's word and needs no signature below it.
    """
    if status is not None and status.content not in ("", hash_in(data)):
        return "its status, trust included, is about other content"
    if signer is None:
        return None
    if status is not None:
        signed = bool(status.content) and signer.holds(_status_payload(status))
        return None if signed else "its status is not signed with the key in use"
    return None if signer.holds(payload) else "not signed with the key in use"


def encode_status(status: Status, signer: Signer | None = None) -> bytes:
    """The bytes of a status file; the words of a verdict are redacted here."""
    if status.verdict:
        status = status.model_copy(update={"verdict": clean_verdict(status.verdict)})
    payload = _status_payload(status)
    return encode(signer.signed(payload) if signer else payload)


def clean_verdict(verdict: Verdict) -> Verdict:
    """The verdict with its words redacted, as they are stored."""
    return verdict.model_copy(update={"reason": redact_text(verdict.reason)}) if verdict.reason else verdict


def _status_payload(status: Status) -> dict[str, Any]:
    payload = status.model_dump(mode="json")
    return {name: value for name, value in payload.items() if value or name not in ("verdict", "content", FIELD)}


def decode_status(data: bytes, id: str, file: str) -> Status:
    """The status in a file that must be about `id`. Raises as `codec.decode`."""
    payload = decode(data, file=file)
    _check_id(payload, id, file)
    return _validate(Status, payload, file)


def encode_tombstone(id: str, reason: str, removed_at: datetime) -> bytes:
    """The bytes of a tombstone."""
    tombstone = validate(Tombstone, {"id": id, "reason": reason, "removed_at": removed_at})
    return encode(tombstone.model_dump(mode="json"))


def decode_tombstone(data: bytes, id: str, file: str) -> Tombstone:
    """The tombstone in a file that must be about `id`. Raises as `codec.decode`."""
    payload = decode(data, file=file)
    _check_id(payload, id, file)
    return _validate(Tombstone, payload, file)


def _validate(model: type[_M], payload: Any, file: str) -> _M:
    """A model of bytes that are as they were written.

    Raises:
        FormatVersionError: a field or version nothing is known of here: a newer version wrote it, and it is left alone.
        SchemaError: anything else that is wrong.
    """
    version = payload.get("schema_version", SCHEMA_VERSION)
    if type(version) is int and version > SCHEMA_VERSION:
        raise FormatVersionError(f"schema {version} is newer than {SCHEMA_VERSION}", file=file, field="schema_version")
    try:
        return validate(model, payload, file=file)
    except SchemaError as error:
        if error.code != UNKNOWN_FIELD:
            raise
        raise FormatVersionError("not known here: a newer version wrote it", file=file, field=error.field) from error


def _check_id(payload: dict[str, Any], id: str, file: str) -> None:
    if payload.get("id") != id:
        raise CorruptError("the file's name is not the id inside", file=file)
