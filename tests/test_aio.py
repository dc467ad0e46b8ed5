"""The memory on an event loop: the same answers, many at a time, and nothing torn by a cancelled call."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from ufo_experience import AsyncExperienceMemory, ExperienceMemory, UsageError

STEPS = [{"action": "click", "control": "Send", "control_type": "Button"}]
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
        async with await AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            await memory.remember("Send the report", STEPS, success=True, application="Outlook")
            found = await memory.retrieve("Send the report")
            return await memory.build_prompt("Send the report", found)

    assert asyncio.run(run()).ids


def test_many_calls_at_once_are_all_answered(tmp_path):
    """Learning and asking side by side, more than there are threads."""

    async def run():
        async with await AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            learned = [memory.remember(f"Send report {name}", STEPS, success=True) for name in "abcdefghij"]
            asked = [memory.retrieve("Send report a") for _ in range(20)]
            await asyncio.gather(*learned, *asked)
            return await memory.stats()

    assert asyncio.run(run()).records == 10


def test_a_cancelled_call_leaves_the_memory_whole(tmp_path):
    """Whoever waited is let go; what was being stored is stored, and the next call is answered."""

    async def run():
        async with await AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            tasks = [
                asyncio.create_task(memory.remember(f"Send report {name}", STEPS, success=True)) for name in "abcde"
            ]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            await memory.remember("Print the report", STEPS, success=True)
            return ended, await memory.verify()

    ended, verification = asyncio.run(run())
    assert all(isinstance(one, asyncio.CancelledError) for one in ended)
    assert (verification.corrupt, verification.index) == ([], "ok")


def test_an_error_is_raised_where_the_call_is_awaited(tmp_path):
    """As the façade raises it."""

    async def run():
        async with await AsyncExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
            await memory.retrieve("Send it", top_k=0)

    with pytest.raises(UsageError, match="k must be"):
        asyncio.run(run())
