"""Stage 2, redact: what a person typed and what is secret leaves here, before anything is stored, embedded or sent.

`typed` says which text was typed, `secrets` finds secrets in running text, `values` knows the values of one run in
other writing, and `run` takes them out of a run or a record, and shortens what is kept of it.
"""

from ufo_experience.redact.run import KeepObservations, keep_constants, redact, redact_json, redact_record, shortened
from ufo_experience.redact.text import PLACEHOLDER, readable, redact_text
from ufo_experience.redact.typed import SLOT_TYPE

__all__ = [
    "PLACEHOLDER", "SLOT_TYPE", "KeepObservations", "keep_constants", "readable", "redact", "redact_json",
    "redact_record", "redact_text", "shortened",
]  # fmt: skip
