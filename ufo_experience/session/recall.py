"""Memory in the loop of a session: asked before a request and before a sub-task, credited with the outcome.

Memory helps or is silent: when it cannot answer, that is logged and the session goes on without.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import TYPE_CHECKING, Any

from ufo_experience.errors import ExperienceError
from ufo_experience.procedure.offer import LOOKED_THROUGH
from ufo_experience.session.log_writer import SessionLog

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory
    from ufo_experience.procedure.guide import Guide
    from ufo_experience.prompt.builder import PromptBlock
    from ufo_experience.retrieve.answer import Retrieval
    from ufo_experience.session.parts import SessionConfig

_log = logging.getLogger(__name__)


class Recall:
    """Asks memory on behalf of one session. `injected` are the ids shown or followed so far, in order.

    `guide` leads along the way found for the latest request or sub-task (in `advise` there is none), `replays` is True
    when it may do so without asking the agent. Where there is none, `choices` lead along some that may be meant.
    """

    def __init__(self, memory: ExperienceMemory, log: SessionLog, session: str, config: SessionConfig) -> None:
        self._memory, self._log, self._session, self._config = memory, log, session, config
        self._injected: dict[str, None] = {}
        self._lessons: dict[str, None] = {}
        self._guides: list[Guide] = []
        self.guide: Guide | None = None
        self.choices: tuple[Guide, ...] = ()
        self.replays = False

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of everything shown to an agent in this session."""
        return tuple(self._injected)

    @property
    def followed(self) -> tuple[str, ...]:
        """Ids of the ways a guide was made of in this session."""
        return tuple(dict.fromkeys(guide.procedure.id for guide in self._guides))

    async def before(self, moment: str, task: str, application: str | None = None) -> PromptBlock | None:
        """The block for a request or sub-task (`moment` says which); None when memory has nothing to say."""
        return await asyncio.to_thread(self._ask, moment, task, application or None)

    def credit(self, success: bool) -> None:
        """Credit or blame everything that was shown with the outcome of the session.

        A way whose guide gave up is blamed however the session ended.
        """
        astray = {guide.procedure.id for guide in self._guides if guide.gave_up}
        groups = {success: [*(one for one in self._injected if one not in astray), *self._lessons]}
        groups[False] = [*groups.get(False, []), *sorted(astray)]
        for verdict, ids in groups.items():
            try:
                credited = self._memory.report(ids, success=verdict, session=self._session) if ids else []
            except ExperienceError as error:
                self._fail("credit", error)
                return
            if credited:
                self._log.audit({"moment": "credit", "success": verdict, "ids": credited})

    def chosen(self, guide: Guide) -> None:
        """The agent has taken one of the `choices`: it is credited from now on."""
        self.guide, self.choices = guide, ()
        self._guides.append(guide)
        self._injected[guide.procedure.id] = None
        self._log.audit({"moment": "choice", "guide": guide.procedure.id})

    def _ask(self, moment: str, task: str, application: str | None) -> PromptBlock | None:
        try:
            found = self._memory.retrieve(task, application=application, top_k=self._config.top_k)
            hits = [*found, *found.negatives]
            block = self._memory.build_prompt(task, hits, max_tokens=self._config.max_tokens) if hits else None
            self._find_way(task, application, found)
        except ExperienceError as error:
            self._fail(moment, error)
            return None
        shown = block if block is not None and block.ids else None
        self._injected |= dict.fromkeys(shown.ids if shown else ())
        self._lessons |= dict.fromkeys(shown.lessons if shown else ())
        if self.guide is not None:
            self._guides.append(self.guide)
            self._injected[self.guide.procedure.id] = None
        self._write_down(moment, task, application, found, shown)
        return shown

    def _find_way(self, task: str, application: str | None, found: Retrieval) -> None:
        """The best way among what was found: a proven one to replay, else one to look ahead on."""
        self.guide, self.replays, self.choices = None, False, ()
        if self._config.recall_mode == "advise":
            return
        if self._config.recall_mode == "replay":
            self.guide = self._memory.guide(task, hits=found, proven_after=self._config.replay_after)
            self.replays = self.guide is not None and self.guide.procedure.is_beyond_doubt
        self.guide = self.guide or self._memory.guide(task, hits=found)
        if self.guide is None:
            wider = self._memory.retrieve(task, application=application, top_k=self._config.top_k, near=LOOKED_THROUGH)
            self.choices = tuple(self._memory.choices(task, hits=[*wider, *wider.near]))

    def _write_down(
        self, moment: str, task: str, application: str | None, found: Retrieval, block: PromptBlock | None
    ) -> None:
        hits = {hit.experience.id: hit for hit in (*found, *found.negatives)}
        shown = [hits[identifier] for identifier in (block.ids if block else ())]
        event: dict[str, Any] = {
            "moment": moment,
            "query_sha256": _digest(task),
            "application": application,
            "threshold": found.threshold,
            "degraded": found.degraded,
            "found": len(found),
            "withheld": len(found.withheld),
            "injected": [{"id": one.id, "score": one.score, "trust": one.experience.trust} for one in shown],
            "guide": self.guide.procedure.id if self.guide else None,
            "replays": self.replays,
            "choices": [one.procedure.id for one in self.choices],
            "tokens": block.tokens if block else 0,
            "prompt_sha256": _digest(block.text) if block else None,
        }
        self._log.audit(event)

    def _fail(self, moment: str, error: ExperienceError) -> None:
        _log.warning("memory cannot answer (%s), going on without: %s", moment, error)
        self._log.audit({"moment": moment, "error": f"{error.code}: {error}"})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
