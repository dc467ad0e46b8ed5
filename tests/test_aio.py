"""The memory on an event loop: the same answers, many at a time, and nothing torn by a cancelled call."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from ufo_experience import AsyncExperienceMemory, ExperienceMemory, Recorder, UsageError

STEPS = [{"action": "click", "control": "Send", "control_type": "Button"}]
NAMES = ("Jane", "Bob", "Carol", "Dan", "Eve", "Frank", "Grace", "Heidi", "Ivan", "Judy", "Mallory", "Niaj")
APART = {"close", "run", "arun"}  # one waits for calls under way; `run` awaits `arun`


def test_every_method_of_the_memory_is_there_with_its_arguments():
    """What is added to the façade is added here."""
    methods = {name for name, _ in inspect.getmembers(ExperienceMemory, inspect.isfunction) if name[0] != "_"}
    for name in methods - APART:
        assert inspect.signature(getattr(AsyncExperienceMemory, name)) == inspect.signature(
            getattr(ExperienceMemory, name)
        )


def test_a_run_is_remembered_found_and_told(tmp_path):
    """The loop of an agent, awaited."""

    async def run():
        async with AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            await memory.remember("Send the report", STEPS, success=True, application="Outlook")
            found = await memory.retrieve("Send the report")
            return await memory.build_prompt("Send the report", found)

    assert asyncio.run(run()).ids


def test_a_memory_that_is_not_awaited_says_so(tmp_path):
    """Not in words of Python; awaited late it is open."""

    async def run():
        memory = AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing")
        with pytest.raises(AttributeError, match=r"memory = await AsyncExperienceMemory\.open"):
            await memory.retrieve("Send the report")
        await (await asyncio.wait_for(memory, 10)).close()

    asyncio.run(run())


def test_what_does_not_wait_is_told_how_to(tmp_path):
    """`with`, `len`, `for` and an index, of a memory that is open or is being opened."""

    async def run():
        opening = AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing")
        async with opening as memory:
            assert memory
            for one in (opening, memory):
                for use in (len, iter, lambda one: one["ffffffff"], lambda one: one.__enter__()):
                    with pytest.raises(UsageError, match=r"async with .*stats\(\)\)\.records"):
                        use(one)
            late = memory.retrieve("Send the report")
            with pytest.raises(UsageError, match="hits is not there yet: write await"):
                memory.memory.build_prompt("Send the report", late)
            await late
            assert Recorder(memory).memory is memory.memory

    asyncio.run(run())


def test_the_records_are_iterated(tmp_path):
    """As those of an `ExperienceMemory` are."""

    async def told() -> list[str]:
        async with AsyncExperienceMemory(tmp_path / "db", embedder="hashing") as memory:
            made = await memory.remember("Send it", [{"action": "click", "control": "Send"}])
            assert [one.id async for one in memory] == [made.id]
            return [one.id for one in await memory.list()]

    assert len(asyncio.run(told())) == 1


def test_the_place_of_a_store_is_enough(tmp_path):
    """As for `ExperienceMemory`; options, too."""

    async def run():
        async with AsyncExperienceMemory(tmp_path / "db", embedder="hashing") as memory:
            await memory.remember("Send the report", STEPS, success=True)
            return len(await memory.retrieve("Send the report"))

    assert asyncio.run(run()) == 1


def test_many_calls_at_once_are_all_answered(tmp_path):
    """Learning and asking side by side, more than there are threads."""

    async def run():
        async with AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            learned = [memory.remember(f"Send report {name}", STEPS, success=True) for name in "abcdefghij"]
            asked = [memory.retrieve("Send report a") for _ in range(20)]
            await asyncio.gather(*learned, *asked)
            return await memory.stats()

    assert asyncio.run(run()).records == 10


@pytest.mark.parametrize("every", [1, 3])
def test_cancelled_calls_leave_the_memory_whole(tmp_path, every):
    """Under load, all or one in three called off at different moments: whoever waited is let go, what is answered is
    stored and found, nothing else is torn, and the next call is answered.
    """
    tasks = [f"Send the report to {name}" for name in NAMES]

    async def run():
        async with AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            calls = [
                asyncio.create_task(call)
                for task in tasks
                for call in (memory.remember(task, STEPS, success=True), memory.retrieve(task))
            ]
            for number, call in enumerate(calls):
                if number % every == 0:
                    asyncio.get_running_loop().call_later(number % 7 / 100, call.cancel)
            ended = await asyncio.gather(*calls, return_exceptions=True)
            await memory.remember("Print the report", STEPS, success=True)
            return ended

    ended = asyncio.run(run())
    faults = [one for one in ended if isinstance(one, BaseException)]
    assert all(isinstance(one, asyncio.CancelledError) for one in faults)
    learned = {task for task, one in zip(tasks, ended[::2], strict=True) if not isinstance(one, BaseException)}
    with ExperienceMemory.open(tmp_path / "db", create=False) as memory:
        stored = {one.state.request for one in memory.list()}
        assert learned | {"Print the report"} <= stored <= {*tasks, "Print the report"}
        assert all(memory.retrieve(task)[0].experience.state.request in stored for task in learned)
        verification = memory.verify()
    assert (verification.corrupt, verification.index) == ([], "ok")


def test_the_loop_goes_on_while_calls_are_under_way(tmp_path):
    """An agent is never held up by a disk: a clock that ticks every millisecond ticks on."""

    async def run():
        ticks = 0

        async def clock():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        async with AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            ticking = asyncio.create_task(clock())
            await asyncio.gather(*(memory.remember(f"Send it to {name}", STEPS, success=True) for name in NAMES))
            ticking.cancel()
        return ticks

    assert asyncio.run(run()) >= 3


def test_closing_waits_for_what_is_being_stored(tmp_path):
    """Nobody awaits the calls; they are done when the memory is closed, and its threads are gone."""

    async def run():
        memory = await AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing")
        calls = [asyncio.create_task(memory.remember(f"Send it to {name}", STEPS, success=True)) for name in NAMES]
        await asyncio.sleep(0)
        await memory.close()
        await asyncio.gather(*calls)
        return [one.name for one in threading.enumerate() if one.name.startswith("ufo-experience")]

    assert asyncio.run(run()) == []
    with ExperienceMemory.open(tmp_path / "db", create=False) as memory:
        assert len(memory) == len(NAMES)


def test_a_closed_memory_and_a_misspelt_method_are_answered_in_our_words(tmp_path):
    """As those of the memory itself."""

    async def run():
        async with AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            with pytest.raises(AttributeError, match=r"it has .*retrieve"):
                memory.retreive("Send it")
        with pytest.raises(UsageError, match="the memory is closed"):
            await memory.retrieve("Send it")
        with pytest.raises(UsageError, match="the memory is closed"):
            await memory.run("Send it", driver=None)

    asyncio.run(run())


def test_an_error_is_raised_where_the_call_is_awaited(tmp_path):
    """As the façade raises it."""

    async def run():
        async with AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            await memory.retrieve("Send it", top_k=0)

    with pytest.raises(UsageError, match="k must be"):
        asyncio.run(run())
