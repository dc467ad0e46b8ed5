"""Memory in the loop of a session: asked before a request and before a sub-task, credited with the outcome.

Memory helps or is silent: when it cannot answer, that is logged and the session goes on without.
"""

from __future__ import annotations

import asyncio
import logging

from ufo_experience.errors import ExperienceError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.offer import LOOKED_THROUGH
from ufo_experience.prompt.builder import PromptBlock
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.session.following import Follower
from ufo_experience.session.parts import SessionConfig

_log = logging.getLogger(__name__)


class Recall:
    """Asks memory on behalf of one session, and has the follower go along the way that was found."""

    def __init__(self, memory: ExperienceMemory, session: str, config: SessionConfig, follower: Follower) -> None:
        self._memory, self._session, self._config, self._follower = memory, session, config, follower
        self._shown: dict[str, None] = {}
        self._lessons: dict[str, None] = {}

    @property
    def followed(self) -> tuple[str, ...]:
        """Ids of the ways that were followed in this session."""
        return tuple(dict.fromkeys(guide.procedure.id for guide in self._follower.guides))

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of everything shown to an agent or followed in this session."""
        return tuple(self._shown | dict.fromkeys(self.followed))

    async def before(self, task: str, application: str, *, follow: bool) -> PromptBlock | None:
        """The block for a request or sub-task, None when memory has nothing to say; with `follow` the way is followed,
        replayed where it is proven. Where there is none, some that may be meant are offered.
        """
        return await asyncio.to_thread(self._ask, task, application or None, follow and self._config.recall != "advise")

    def credit(self, success: bool) -> None:
        """Credit or blame everything that was shown with the outcome of the session.

        A way whose guide gave up is blamed however the session ended.
        """
        astray = {guide.procedure.id for guide in self._follower.guides if guide.gave_up}
        shown = [*(one for one in self.injected if one not in astray), *self._lessons]
        try:
            for verdict, ids in ((success, shown), (False, sorted(astray))):
                if ids:
                    self._memory.report(ids, success=verdict, session=self._session)
        except ExperienceError as error:
            _log.warning("memory cannot take the credit: %s", error)

    def _ask(self, task: str, application: str | None, follow: bool) -> PromptBlock | None:
        try:
            found = self._memory.retrieve(task, application=application)
            block = self._memory.build_prompt(task, found) if found or found.negatives else None
            if follow:
                self._find_a_way(task, application, found)
        except ExperienceError as error:
            _log.warning("memory cannot answer, going on without: %s", error)
            return None
        if block is not None:
            self._shown |= dict.fromkeys(block.ids)
            self._lessons |= dict.fromkeys(block.lessons)
        return block

    def _find_a_way(self, task: str, application: str | None, found: Retrieval) -> None:
        """The best way among what was found: a proven one to replay, else one to look ahead on, else choices."""
        guide: Guide | None = None
        if self._config.recall == "replay":
            guide = self._memory.guide(task, hits=found, proven_after=self._config.replay_after)
        replay = guide is not None and guide.procedure.is_beyond_doubt
        guide = guide or self._memory.guide(task, hits=found)
        choices: list[Guide] = []
        if guide is None:
            wider = self._memory.retrieve(task, application=application, near=LOOKED_THROUGH)
            choices = list(self._memory.choices(task, hits=[*wider, *wider.near]))
        self._follower.follow(guide, replay=replay, choices=choices)
