"""`AsyncExperienceMemory`: the same memory for programs on an event loop.

    async with AsyncExperienceMemory("my_memory") as memory:
        found = await memory.retrieve("Send the report", application="Outlook")
        prompt = await memory.build_prompt("Send the report", found)

Disk and models block, so each call runs in a thread of the memory's own. A call that is cancelled is not torn: the
thread ends its work, and a run that was being stored is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ufo_experience.errors import UsageError, names_methods
from ufo_experience.executor import Driver, Execution
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Experience

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 8  # calls at a time; others wait their turn


def _in_thread(
    method: Callable[Concatenate[ExperienceMemory, P], T],
) -> Callable[Concatenate[AsyncExperienceMemory, P], Coroutine[Any, Any, T]]:
    """The method of the façade as a coroutine, with its arguments, result and documentation."""

    async def call(self: AsyncExperienceMemory, /, *args: P.args, **given: P.kwargs) -> T:
        return await self._run(partial(method, self.memory, *args, **given))

    update_wrapper(call, method)
    return call


class _OnLoop:
    """What is used without waiting for it says how to."""

    def _wait(self, *given: object) -> Any:
        how = "async with AsyncExperienceMemory.open(…) as memory, async for one in memory"
        raise UsageError(f"it works on an event loop: {how}, await memory.get(id), (await memory.stats()).records")

    __enter__ = __exit__ = __iter__ = __len__ = __getitem__ = _wait


class _Opening(_OnLoop):
    """A memory that is being opened."""

    def __init__(self, made: Coroutine[Any, Any, AsyncExperienceMemory]) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, Any, AsyncExperienceMemory]:
        return self._made.__await__()

    async def __aenter__(self) -> AsyncExperienceMemory:
        self._memory = await self
        return self._memory

    async def __aexit__(self, *error: object) -> None:
        await self._memory.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: the memory is not open yet: memory = await AsyncExperienceMemory.open(…)")


@names_methods
class AsyncExperienceMemory(_OnLoop):
    """An `ExperienceMemory` whose methods are coroutines: of one that is open, or of the place of a store.

    `memory` is the one behind it. `open` does not keep the event loop waiting meanwhile.
    """

    def __init__(self, memory: ExperienceMemory | str | Path, **options: Any) -> None:
        self.memory = memory if isinstance(memory, ExperienceMemory) else ExperienceMemory(memory, **options)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ufo-experience")
        self._is_closed = False

    @classmethod
    def open(cls, *args: Any, **given: Any) -> _Opening:
        """Open (or create) a store, as `ExperienceMemory.open` does: `await` it, or enter it by `async with`."""

        async def made() -> AsyncExperienceMemory:
            return cls(await asyncio.to_thread(partial(ExperienceMemory.open, *args, **given)))

        return _Opening(made())

    async def close(self) -> None:
        """Wait for calls that are under way, and let go of files and connections."""
        self._is_closed = True
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self.memory.close)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Async{repr(self.memory)[1:]}"

    async def __aenter__(self) -> AsyncExperienceMemory:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Experience]:
        """The records, the newest first."""
        for one in await self.list():
            yield one

    def _expect_open(self) -> None:
        if self._is_closed:
            raise UsageError("the memory is closed: open it again")

    async def _run(self, call: Callable[[], T]) -> T:
        self._expect_open()
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def run(self, task: str, driver: Driver, *, application: str | None = None, **options: Any) -> Execution:
        """Carry out the known way of a task without a model; takes what `ExperienceMemory.arun` does."""
        self._expect_open()
        return await self.memory.arun(task, driver, application=application, **options)

    ingest = _in_thread(ExperienceMemory.ingest)
    remember = _in_thread(ExperienceMemory.remember)
    judge = _in_thread(ExperienceMemory.judge)
    retrieve = _in_thread(ExperienceMemory.retrieve)
    build_prompt = _in_thread(ExperienceMemory.build_prompt)
    guide = _in_thread(ExperienceMemory.guide)
    choices = _in_thread(ExperienceMemory.choices)
    report = _in_thread(ExperienceMemory.report)
    learn_lessons = _in_thread(ExperienceMemory.learn_lessons)
    calibrate = _in_thread(ExperienceMemory.calibrate)
    add_experience = _in_thread(ExperienceMemory.add_experience)
    query = _in_thread(ExperienceMemory.query)
    recommend = _in_thread(ExperienceMemory.recommend)
    index = _in_thread(ExperienceMemory.index)
    get = _in_thread(ExperienceMemory.get)
    list = _in_thread(ExperienceMemory.list)
    approve = _in_thread(ExperienceMemory.approve)
    quarantine = _in_thread(ExperienceMemory.quarantine)
    remove = _in_thread(ExperienceMemory.remove)
    undo_remove = _in_thread(ExperienceMemory.undo_remove)
    purge = _in_thread(ExperienceMemory.purge)
    verify = _in_thread(ExperienceMemory.verify)
    export = _in_thread(ExperienceMemory.export)
    import_ = _in_thread(ExperienceMemory.import_)
    stats = _in_thread(ExperienceMemory.stats)
    sources = _in_thread(ExperienceMemory.sources)
    export_json = _in_thread(ExperienceMemory.export_json)
    import_json = _in_thread(ExperienceMemory.import_json)
    take_in = _in_thread(ExperienceMemory.take_in)
    index_if_possible = _in_thread(ExperienceMemory.index_if_possible)
