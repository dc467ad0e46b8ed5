"""Secrets leave here, before anything is stored, embedded, logged or sent.

The order: typing that was logged key by key is joined; passwords are found by the control or argument they went into;
typed text becomes slots; keys, tokens, cards and the like are found by shape and checksum; images, URL queries and
screenshot paths go. A value found anywhere is removed everywhere.
"""

from __future__ import annotations

from ufo_experience.redaction.slots import SLOT_TYPE
from ufo_experience.redaction.text import PLACEHOLDER, redact_text
from ufo_experience.redaction.trajectory import DEFAULT_POLICY, RedactionPolicy, redact

__all__ = ["DEFAULT_POLICY", "PLACEHOLDER", "SLOT_TYPE", "RedactionPolicy", "redact", "redact_text"]
