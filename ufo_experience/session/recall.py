"""Memory in the loop of a session: asked at four moments, written down each time, credited with the outcome.

    task       before a request is begun
    subtask    before a sub-task is begun
    risk       before a step that cannot be taken back: failures and ways of just this action, not shown yet
    failure    after an action failed again: the same, and ways whose next target is on the screen now

Memory helps or is silent: when it cannot answer, that is logged and the session goes on without.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ufo_experience.errors import ExperienceError
from ufo_experience.procedure.offer import LOOKED_THROUGH, PROVEN_AFTER
from ufo_experience.procedure.acts import needs_consent
from ufo_experience.redact import redact_text
from ufo_experience.redact.names import words_of
from ufo_experience.session.following import RecallMode
from ufo_experience.session.log_writer import SessionLog
from ufo_experience.session.protocols import AgentStatus, Command, Decision

if TYPE_CHECKING:
    from ufo_experience.ingest import IngestReport
    from ufo_experience.procedure.guide import Guide
    from ufo_experience.prompt.builder import PromptBlock
    from ufo_experience.retrieve.answer import Retrieval
    from ufo_experience.schema import Hit

STEP_CANDIDATES = 10  # looked through for those that speak of the step at hand
IN_VIEW = 0.9  # how well the next target of a way fits a control in view, to be taken for it

_log = logging.getLogger(__name__)


class ExperienceSource(Protocol):
    """What a session needs of a memory; `ExperienceMemory` is one."""

    def ingest(self, *paths: str | Path, include_failures: bool = False) -> IngestReport:
        """Learn from logs."""
        ...

    def retrieve(
        self,
        task: str,
        *,
        application: str | None = None,
        top_k: int | None = None,
        near: int = 0,
        controls: Iterable[Any] | None = None,
        done: Iterable[str] = (),
    ) -> Retrieval:
        """Find what helps with a task, and so many that come near; among equals what goes on from the controls in view,
        after what was done.
        """
        ...

    def build_prompt(
        self, task: str, hits: Sequence[Hit] | None = None, *, max_tokens: int | None = None
    ) -> PromptBlock:
        """Make a few-shot block of what was found."""
        ...

    def guide(self, task: str, *, hits: Sequence[Hit] | None = None, proven_after: int = 0) -> Guide | None:
        """Lead along the best way among what was found."""
        ...

    def choices(self, task: str, *, hits: Sequence[Hit] | None = None) -> Sequence[Guide]:
        """Ways that may be meant where none is known well enough, for an agent to choose from."""
        ...

    def report(self, what: Iterable[Hit | str], *, success: bool, session: str | None = None) -> list[str]:
        """Credit what was injected with the outcome."""
        ...


@dataclass(frozen=True)
class _Seen:
    """The controls in view, and the names of those acted on so far."""

    controls: tuple[Any, ...]
    done: tuple[str, ...]


class Recall:
    """Asks memory on behalf of one session. `injected` are the ids shown or followed so far, in order.

    `guide` leads along the way found for the latest request or sub-task (in `advise` there is none), `replays` is True
    when it may do so without asking the agent. Where there is none, `choices` lead along some that may be meant.
    """

    def __init__(
        self,
        memory: ExperienceSource,
        log: SessionLog,
        session: str,
        *,
        top_k: int | None = None,
        max_tokens: int | None = None,
        mode: RecallMode = "advise",
        replay_after: int = PROVEN_AFTER,
    ) -> None:
        self._memory, self._log, self._session = memory, log, session
        self._top_k, self._max_tokens = top_k, max_tokens
        self._mode, self._replay_after = mode, replay_after
        self._injected: dict[str, None] = {}
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

    async def before_task(self, request: str, application: str | None = None) -> PromptBlock | None:
        """The block for a request; None when memory has nothing to say."""
        return await asyncio.to_thread(self._ask, "task", request, application or None)

    async def before_subtask(self, subtask: str, application: str | None = None) -> PromptBlock | None:
        """The block for a sub-task; None when memory has nothing to say."""
        return await asyncio.to_thread(self._ask, "subtask", subtask, application or None)

    async def before_step(
        self,
        moment: str,
        task: str,
        commands: Sequence[Command],
        application: str | None = None,
        *,
        controls: Sequence[Any] = (),
        done: Sequence[str] = (),
    ) -> PromptBlock | None:
        """The block of experiences, failures first, that speak of one of `commands` and were not shown yet.

        With the `controls` in view (and the names of those acted on so far) also ways whose next target is among them.
        """
        seen = _Seen(tuple(controls), tuple(done)) if controls else None
        return await asyncio.to_thread(self._ask, moment, task, application or None, tuple(commands), seen)

    def credit(self, success: bool) -> list[str]:
        """Credit or blame everything that was shown with the outcome of the session; returns the ids updated.

        A way whose guide gave up is blamed however the session ended.
        """
        if not self._injected:
            return []
        astray = {guide.procedure.id for guide in self._guides if guide.gave_up} if success else set()
        helped = [one for one in self._injected if one not in astray]
        try:
            updated = self._memory.report(helped, success=success, session=self._session) if helped else []
            if astray:
                updated += self._memory.report(sorted(astray), success=False, session=self._session)
        except ExperienceError as error:
            self._fail("credit", error)
            return []
        self._log.audit({"moment": "credit", "success": success, "ids": updated})
        return updated

    def _ask(
        self,
        moment: str,
        task: str,
        application: str | None,
        commands: tuple[Command, ...] = (),
        seen: _Seen | None = None,
    ) -> PromptBlock | None:
        more: dict[str, Any] = {"controls": seen.controls, "done": seen.done} if seen is not None else {}
        try:
            top_k = STEP_CANDIDATES if commands else self._top_k
            found = self._memory.retrieve(task, application=application, top_k=top_k, **more)
            hits = self._about(commands, [*found.negatives, *found]) if commands else [*found, *found.negatives]
            block = self._memory.build_prompt(task, hits, max_tokens=self._max_tokens) if hits else None
            if not commands:
                self._find_way(task, application, found)
        except ExperienceError as error:
            self._fail(moment, error)
            return None
        shown = block if block is not None and block.ids else None
        followed = (self.guide.procedure.id,) if self.guide is not None else ()
        self._injected |= dict.fromkeys([*(shown.ids if shown else ()), *followed])
        self._write_down(moment, task, application, found, shown, commands)
        return shown

    def _find_way(self, task: str, application: str | None, found: Retrieval) -> None:
        """The best way among what was found: a proven one to replay, else one to look ahead on."""
        self.guide, self.replays = None, False
        if self._mode == "replay":
            self.guide = self._memory.guide(task, hits=found, proven_after=self._replay_after)
            self.replays = self.guide is not None and self.guide.procedure.is_beyond_doubt
        if self._mode != "advise" and self.guide is None:
            self.guide = self._memory.guide(task, hits=found)
        self.choices = ()
        if self._mode != "advise" and self.guide is None:
            wider = self._memory.retrieve(task, application=application, top_k=self._top_k, near=LOOKED_THROUGH)
            self.choices = tuple(self._memory.choices(task, hits=[*wider, *wider.near]))
            if any(one.procedure.said_so for one in self.choices):
                (self.guide,), self.choices = self.choices, ()
        self._guides += [self.guide] if self.guide is not None else []

    def chosen(self, guide: Guide) -> None:
        """The agent has taken one of the `choices`: it is credited from now on."""
        self.guide, self.choices = guide, ()
        self._guides.append(guide)
        self._injected[guide.procedure.id] = None
        self._log.audit({"moment": "choice", "guide": guide.procedure.id})

    def _about(self, commands: Sequence[Command], hits: Sequence[Hit]) -> list[Hit]:
        """Experiences not shown yet that have a step like one of `commands`, or go on from what is on the screen."""
        wanted = {_act(command.tool_name, command.target.name if command.target else "") for command in commands}
        return [
            hit
            for hit in hits
            if hit.experience.id not in self._injected
            and (
                hit.explanation.get("on_screen", 0.0) >= IN_VIEW
                or wanted & {_act(step.action_type, step.target_control.name) for step in hit.experience.action.steps}
            )
        ]

    def _write_down(
        self,
        moment: str,
        task: str,
        application: str | None,
        found: Retrieval,
        block: PromptBlock | None,
        commands: Sequence[Command],
    ) -> None:
        hits = {hit.experience.id: hit for hit in (*found, *found.negatives)}
        shown = [hits[identifier] for identifier in (block.ids if block else ())]
        self._log.audit(
            {
                "moment": moment,
                "query_sha256": _digest(redact_text(task)),
                "application": application,
                "about": [[one.tool_name, one.target.name if one.target else ""] for one in commands],
                "embedder": found.embedder,
                "threshold": found.threshold,
                "degraded": found.degraded,
                "found": len(found),
                "withheld": len(found.withheld),
                "injected": [
                    {
                        "id": hit.experience.id,
                        "score": hit.score,
                        "ranked_by": hit.ranked_by,
                        "trust": hit.experience.trust,
                        "success": hit.experience.outcome.success,
                    }
                    for hit in shown
                ],
                "guide": self.guide.procedure.id if self.guide is not None else None,
                "replays": self.replays,
                "choices": [one.procedure.id for one in self.choices],
                "tokens": block.tokens if block else 0,
                "prompt_sha256": _digest(block.text) if block else None,
            }
        )

    def _fail(self, moment: str, error: ExperienceError) -> None:
        _log.warning("memory cannot answer (%s), going on without: %s", moment, error)
        self._log.audit({"moment": moment, "error": f"{error.code}: {error}"})


def is_risky(decision: Decision) -> bool:
    """Tell whether a decision is one to look twice at: it says so, asks for consent, or a person would be asked."""
    if not decision.commands:
        return False
    return decision.risky or decision.status is AgentStatus.CONFIRM or any(map(_asks_first, decision.commands))


def _asks_first(command: Command) -> bool:
    target = command.target
    name, kind = (target.name, target.type or "") if target else ("", "")
    return needs_consent(command.tool_name, name, kind, command.parameters)


def _act(tool: str, control: str) -> tuple[str, ...]:
    """What makes two actions the same for memory: the control, else the tool."""
    return ("control", *words_of(control)) if control else ("tool", *words_of(tool))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
