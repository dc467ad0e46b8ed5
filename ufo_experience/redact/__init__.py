"""Stage 2, redact: secrets leave here, before anything is stored, embedded, logged or sent.

The order: typing that was logged key by key is joined; passwords are found by the control or argument they went into;
typed text becomes slots; keys, tokens, cards and the like are found by shape and checksum; images, URL queries and
screenshot paths go. A value found anywhere is removed everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ufo_experience.redact.text import PLACEHOLDER, redact_json, redact_text

if TYPE_CHECKING:
    from ufo_experience.redact.record import redact_record
    from ufo_experience.redact.slot_types import SLOT_TYPE
    from ufo_experience.redact.trajectory import redact

__all__ = ["PLACEHOLDER", "SLOT_TYPE", "redact", "redact_json", "redact_record", "redact_text"]

# A query needs `redact_text` only; the rest is loaded when a trajectory is to be redacted.
_LATER = {"SLOT_TYPE": "slot_types", "redact": "trajectory", "redact_record": "record"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
