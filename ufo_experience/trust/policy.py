"""Whom the memory believes: the lowest trust a record must have to be shown to an agent."""

from __future__ import annotations

from dataclasses import dataclass

from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.completeness import missing
from ufo_experience.trust.risk import injectable_rank

INCOMPLETE = -2  # rank of a success nobody could follow: below every risky one, and no approval helps


def shown_rank(experience: Experience) -> int:
    """The trust that decides whether a record is put into a prompt: `INCOMPLETE` for a success that does not say what
    was asked, what was done or to what; else `injectable_rank`.
    """
    return INCOMPLETE if missing(experience) else injectable_rank(experience)


@dataclass(frozen=True)
class TrustPolicy:
    """The lowest trust that may be injected: of own records, and of imported ones."""

    own: Trust = Trust.VERIFIED
    imported: Trust = Trust.APPROVED

    def admits(self, experience: Experience) -> bool:
        """True for a record that may be injected; what the columns of an index said of it does not count."""
        least = self.imported if experience.provenance.origin == "import" else self.own
        return shown_rank(experience) >= least.rank
