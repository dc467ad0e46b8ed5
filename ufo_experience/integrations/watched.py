"""What the adapters of agent frameworks share: ask before a run, note its tool calls in order, learn by a check."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ufo_experience.integrations.recorder import Recorder
from ufo_experience.schema import Experience

Check = Callable[[Any], bool | None]  # looks at a result and says whether the task was done; None: unknown


class Watched:
    """The runs of one agent of a framework. `block` is what is known of the task of the run that goes on.

    A host may carry out several calls side by side. They are noted in the order they were begun.
    """

    def __init__(self, recorder: Recorder, application: str | None = None, check: Check | None = None) -> None:
        self.recorder, self._application, self._check = recorder, application, check
        self.block = ""
        self._calls: dict[str, Callable[[], None] | None] = {}

    def begin(self, task: str) -> None:
        """Ask what is known of the task."""
        self.block = self.recorder.start(task, self._application).block
        self._calls = {}

    def before(self, own: str | None) -> str:
        """What is known, before the agent's own instructions."""
        return "\n\n".join(part for part in (self.block, own) if part)

    def called(self, id: str) -> None:
        """A tool is called."""
        self._calls[id] = None

    def answered(
        self,
        id: str,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        result: object = "",
        error: str | None = None,
    ) -> None:
        """A tool has answered; the call is noted once those before it are."""
        self._calls[id] = lambda: self.recorder.call(name, arguments, result, error)
        while self._calls and (note := self._calls[next(iter(self._calls))]) is not None:
            del self._calls[next(iter(self._calls))]
            note()

    def end(self, result: Any) -> Experience | None:
        """Learn the run; calls that were answered behind one that never was are noted now."""
        for note in filter(None, self._calls.values()):
            note()
        success = None if self._check is None else self._check(result)
        return self.recorder.finish(success, None if success is None else "program")

    async def abegin(self, task: str) -> None:
        """`begin` in a thread, for loops that must not wait; so is `aend`."""
        await asyncio.to_thread(self.begin, task)

    async def aend(self, result: Any) -> Experience | None:
        return await asyncio.to_thread(self.end, result)
