"""Whom the memory believes: the lowest trust a record must have to be shown to an agent."""

from __future__ import annotations

from dataclasses import dataclass

from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.risk import injectable_rank


@dataclass(frozen=True)
class TrustPolicy:
    """The lowest trust that may be injected: of own records, and of imported ones."""

    own: Trust = Trust.VERIFIED
    imported: Trust = Trust.APPROVED

    def admits(self, experience: Experience) -> bool:
        """True for a record that may be injected; what the columns of an index said of it does not count."""
        least = self.imported if experience.provenance.origin == "import" else self.own
        return injectable_rank(experience) >= least.rank
