"""Signing records with a key that lies outside the store, so that a file written by anybody else is not believed.

A signature proves where a record comes from, not that it is good. With a key, a record counts for what its file says
only if record and status were signed with it; without one, hashes find damage but not a careful forger.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ufo_experience.errors import RefusedError, UsageError
from ufo_experience.store.codec import canonical

KEY, KEY_FILE = "UFO_EXPERIENCE_HMAC_KEY", "UFO_EXPERIENCE_HMAC_KEY_FILE"
UNSIGNED = "E_UNSIGNED"
FIELD = "hmac"
_LEAST = 16


class Signer:
    """HMAC-SHA-256 over the canonical JSON of a payload."""

    def __init__(self, key: bytes) -> None:
        """Take a key of 16 bytes or more. Raises `UsageError` for a shorter one."""
        if len(key) < _LEAST:
            raise UsageError(f"the key that signs records has fewer than {_LEAST} bytes")
        self._key = key

    def signed(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The payload with its signature as the field `hmac`."""
        return {**payload, FIELD: self._sign(payload)}

    def holds(self, payload: Mapping[str, Any]) -> bool:
        """True when the payload was signed with this key and not changed since."""
        return hmac.compare_digest(str(payload.get(FIELD)).encode("utf-8", "replace"), self._sign(payload).encode())

    @property
    def identity(self) -> bytes:
        """Tells keys apart and gives none away."""
        return hmac.new(self._key, b"identity", sha256).digest()

    def _sign(self, payload: Mapping[str, Any]) -> str:
        bare = {name: value for name, value in payload.items() if name != FIELD}
        return hmac.new(self._key, canonical(bare), sha256).hexdigest()


def signer_from_environment(root: Path | None, environment: Mapping[str, str] | None = None) -> Signer | None:
    """The signer of the key in `UFO_EXPERIENCE_HMAC_KEY`, or in the file `UFO_EXPERIENCE_HMAC_KEY_FILE` names.

    None when neither is set. `root` is the folder of the store, None for one in a database.

    Raises:
        RefusedError: the key file lies inside the store: who can write records could then sign them.
        UsageError: the file cannot be read, or the key is too short.
    """
    env = os.environ if environment is None else environment
    if file := env.get(KEY_FILE):
        path = Path(file)
        if root is not None and path.resolve().is_relative_to(root.resolve()):
            raise RefusedError(f"the key file {path} lies inside the store")
        try:
            return Signer(path.read_bytes().strip())
        except OSError as error:
            raise UsageError(f"key file {path}: {error.strerror or error}") from error
    key = env.get(KEY, "").strip()
    return Signer(key.encode("utf-8")) if key else None
