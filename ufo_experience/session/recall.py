"""Memory in the loop of a session: asked before a request and before a sub-task, credited with the outcome.

Memory helps or is silent: when it cannot answer, that is logged and the session goes on without.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ufo_experience.errors import ExperienceError
from ufo_experience.procedure.offer import LOOKED_THROUGH
from ufo_experience.session.following import Follower

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory
    from ufo_experience.procedure.guide import Guide
    from ufo_experience.prompt.builder import PromptBlock
    from ufo_experience.retrieve.answer import Retrieval
    from ufo_experience.session.parts import SessionConfig
    from ufo_experience.session.protocols import Context

_log = logging.getLogger(__name__)


class Recall:
    """Asks memory on behalf of one session. `injected` are the ids shown or followed so far, in order.

    `follower` goes along the way found for the latest request or sub-task, without asking the agent where the way is
    proven. Where there is none, it offers some that may be meant; in `advise` it knows none.
    """

    def __init__(self, memory: ExperienceMemory, session: str, config: SessionConfig) -> None:
        self._memory, self._session, self._config = memory, session, config
        self._injected: dict[str, None] = {}
        self._lessons: dict[str, None] = {}
        self._guides: list[Guide] = []
        self._guide: Guide | None = None
        self._choices: tuple[Guide, ...] = ()
        self._replays = False

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of everything shown to an agent in this session."""
        return tuple(self._injected)

    @property
    def followed(self) -> tuple[str, ...]:
        """Ids of the ways a guide was made of in this session."""
        return tuple(dict.fromkeys(guide.procedure.id for guide in self._guides))

    async def before(self, task: str, application: str = "") -> PromptBlock | None:
        """The block for a request or sub-task; None when memory has nothing to say."""
        return await asyncio.to_thread(self._ask, task, application or None)

    def credit(self, success: bool) -> None:
        """Credit or blame everything that was shown with the outcome of the session.

        A way whose guide gave up is blamed however the session ended.
        """
        astray = {guide.procedure.id for guide in self._guides if guide.gave_up}
        shown = [*(one for one in self._injected if one not in astray), *self._lessons]
        try:
            for verdict, ids in ((success, shown), (False, sorted(astray))):
                if ids:
                    self._memory.report(ids, success=verdict, session=self._session)
        except ExperienceError as error:
            _log.warning("memory cannot take the credit: %s", error)

    def follower(self, context: Context, timeout: float) -> Follower:
        """Goes along what was found for the latest request or sub-task."""
        return Follower(
            context, timeout, guide=self._guide, replay=self._replays, choices=self._choices, chosen=self._follow
        )

    def _ask(self, task: str, application: str | None) -> PromptBlock | None:
        self._guide, self._replays, self._choices = None, False, ()
        try:
            found = self._memory.retrieve(task, application=application)
            block = None
            if found or found.negatives:
                block = self._memory.build_prompt(task, found)
            guide = self._way(task, application, found)
        except ExperienceError as error:
            _log.warning("memory cannot answer, going on without: %s", error)
            return None
        if block is not None:
            self._injected |= dict.fromkeys(block.ids)
            self._lessons |= dict.fromkeys(block.lessons)
        if guide is not None:
            self._follow(guide)
        return block

    def _way(self, task: str, application: str | None, found: Retrieval) -> Guide | None:
        """The best way among what was found: a proven one to replay, else one to look ahead on, else choices."""
        if self._config.recall == "advise":
            return None
        if self._config.recall == "replay":
            proven = self._memory.guide(task, hits=found, proven_after=self._config.replay_after)
            if proven is not None:
                self._replays = proven.procedure.is_beyond_doubt
                return proven
        guide = self._memory.guide(task, hits=found)
        if guide is None:
            wider = self._memory.retrieve(task, application=application, near=LOOKED_THROUGH)
            self._choices = tuple(self._memory.choices(task, hits=[*wider, *wider.near]))
        return guide

    def _follow(self, guide: Guide) -> None:
        """From now on this way is credited."""
        self._guide = guide
        self._guides.append(guide)
        self._injected[guide.procedure.id] = None
