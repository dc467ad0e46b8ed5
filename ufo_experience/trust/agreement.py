"""What several runs agree on, and so may be shown although no task names it.

A value that runs of different sessions typed is a constant of the procedure: a code, an account, an approver. Never
shown by agreement is an address, a path, a command, an amount, the number of a bank account or a long text: whoever
plants one run can plant two, so those take a person's approval.
"""

import re
from collections.abc import Iterable

from ufo_experience.redact.typed import FIXED
from ufo_experience.schema import Experience
from ufo_experience.trust.labels import MOST_CHARS, MOST_WORDS, strange_in

LEAST_SESSIONS = 2
_SHORT_NUMBER = re.compile(r"\d{1,10}")  # of an account in the books; not of a bank account or a telephone


def may_agree(value: str) -> bool:
    """True for a value that independent runs may vouch for.

    >>> may_agree("4711"), may_agree("eve@evil.test"), may_agree("DE07 1203 0000 1099 4417 21")
    (True, False, False)
    """
    short = len(value) <= MOST_CHARS and len(value.split()) <= MOST_WORDS
    plain = strange_in(value) is None or _SHORT_NUMBER.fullmatch(value) is not None
    return bool(value.strip()) and short and plain


def constants_of(runs: Iterable[Experience]) -> dict[str, str]:
    """Digest → value, for what trusted runs of one task agree on; `runs` are those that worked.

    A digest is that of a value under the store's key, so equal digests are equal values. One of the runs holds it in
    clear: the second that typed it (see `redact.keep_constants`).
    """
    sessions: dict[str, set[str]] = {}
    values: dict[str, str] = {}
    for run in runs:
        for slot, digest in run.digests.items():
            sessions.setdefault(digest, set()).add(run.provenance.session or run.id)
            kind = run.slots.get(slot, "")
            if kind.startswith(FIXED):
                values[digest] = kind[len(FIXED) :]
    agreed = {digest for digest, of in sessions.items() if len(of) >= LEAST_SESSIONS}
    return {digest: value for digest, value in values.items() if digest in agreed and may_agree(value)}
