"""Python, command line, MCP and the page give the same answer: 50 requests, by default ten, each asked through all."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import Cli
from ufo_experience import ExperienceMemory
from ufo_experience.cli.serve import SAMPLES

PAIRS = Path(__file__).parent / "data" / "pairs.jsonl"
HOST = "127.0.0.1:8321"
SAMPLE_REQUESTS = [
    ("Turn on Bluetooth", "Settings"),
    ("Turn off Bluetooth in the settings", "Settings"),
    ("Turn on Bluetooth", "Word"),
    ("Write a new email to Priya and ask whether Friday still suits", "Outlook"),
    ("Export the presentation budget.pptx as a PDF file", ""),
    ("Book a one-way flight to Rome", ""),
]
Answer = tuple[list[str], str, str]  # ids of what is served, why nothing is, what the agent is told


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> ExperienceMemory:
    """The samples, with their failures, and one judged run of each task that is asked for in other words."""
    for extra, package in (("mcp", "mcp"), ("web", "starlette"), ("web", "jinja2")):
        pytest.importorskip(package, reason=f"the extra `{extra}` is not installed")
    memory = ExperienceMemory.open(tmp_path_factory.mktemp("doors") / "db", embedder="hashing")
    memory.ingest(SAMPLES, include_failures=True)
    for place, (learned, _) in enumerate(asked_otherwise()):
        steps = [{"action": "click", "control": word, "control_type": "Button"} for word in ("File", "More", "OK")]
        memory.remember(learned, steps, success=True if place % 5 else None, application="Office")
    return memory


def asked_otherwise() -> list[tuple[str, str]]:
    """Tasks that are learned, each with what is asked instead: the same in other words, or something alike."""
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [(one["a"], one["b"]) for one in pairs[:: len(pairs) // 44]][:44]


def requests() -> list[tuple[str, str]]:
    """The 50 requests, with the application they are for."""
    return [*SAMPLE_REQUESTS, *((asked, "") for _, asked in asked_otherwise())]


def told(text: str) -> str:
    """The block without the random digits of its frame, one space between words."""
    return " ".join(re.sub(r"(past-experience |>>>)[0-9a-f]{8}", r"\1", text).split())


def by_python(memory: ExperienceMemory, asked: Sequence[tuple[str, str]]) -> list[Answer]:
    """`retrieve` and `build_prompt`."""
    answers = []
    for task, application in asked:
        found = memory.retrieve(task, application=application or None)
        hits = [hit.experience.id for hit in [*found, *found.negatives]]
        answers.append((hits, found.reason or "", told(memory.build_prompt(task, found).text)))
    return answers


def by_command(memory: ExperienceMemory, asked: Sequence[tuple[str, str]]) -> list[Answer]:
    """`ufo-experience retrieve` and `prompt`."""
    cli, answers = Cli(Path(memory.store.location).parent), []
    for task, application in asked:
        given = [task, "--db", memory.store.location, *(["--application", application] if application else [])]
        found, prompt = cli.json("retrieve", *given), cli.json("prompt", *given)["prompt"]
        hits = [hit["id"] for hit in [*found["hits"], *found["negatives"]]]
        answers.append((hits, found["reason"] or "", told(prompt.removeprefix(task))))
    return answers


def by_mcp(memory: ExperienceMemory, asked: Sequence[tuple[str, str]]) -> list[Answer]:
    """`find_experience` and `experience_prompt`."""
    from mcp.client import Client

    from ufo_experience.integrations.mcp_server import build_server

    async def ask() -> list[Answer]:
        answers = []
        async with Client(build_server(memory)) as client:
            for task, application in asked:
                given = {"task": task, "application": application}
                found = (await client.call_tool("find_experience", given)).structured_content
                text = (await client.call_tool("experience_prompt", {**given, "max_tokens": 1200})).content[0].text
                block = "" if text.startswith("no experience") else text.partition("\n\nids for report_outcome")[0]
                answers.append(([hit["id"] for hit in found["hits"]], found["reason"], told(block)))
        return answers

    return asyncio.run(ask())


def by_page(memory: ExperienceMemory, asked: Sequence[tuple[str, str]]) -> list[Answer]:
    """ "Try a task"."""
    from starlette.testclient import TestClient

    from ufo_experience.review.app import build_app
    from ufo_experience.review.guard import COOKIE

    client = TestClient(build_app(memory, token="t" * 43, session="t" * 43, hosts=[HOST]), base_url=f"http://{HOST}")
    client.cookies.set(COOKIE, "t" * 43)
    answers = []
    for task, application in asked:
        page = client.get("/try", params={"task": task, "application": application}).text
        sections = {
            unescape(re.sub(r" *<.*", "", head)): body
            for head, body in re.findall(r"<h2>(.*?)</h2>(.*?)(?=<h2>|</main>)", page, re.DOTALL)
        }
        served = sections["Shown"] + sections.get("Shown as tried and failed", "")
        reason = re.search(r"<p>Nothing: (.*?)\.</p>", sections["Shown"], re.DOTALL)
        block = re.search(r"<pre[^>]*>(.*?)</pre>", sections["What the agent is shown"], re.DOTALL)
        answers.append(
            (
                re.findall(r'href="/experience/([0-9a-f]{32})"', served),
                unescape(reason[1]) if reason else "",
                told(unescape(block[1])) if block else "",
            )
        )
    return answers


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_the_four_doors_give_the_same_answer(memory: ExperienceMemory, every: int):
    """The same runs in the same order, the same reason where there are none, the same text for the agent."""
    asked = requests()[::every]
    python: list[Answer] = by_python(memory, asked)
    assert len(asked) == 50 // every
    assert sum(bool(hits) for hits, _, _ in python) >= len(asked) / 5  # some are served
    assert sum(bool(reason) for _, reason, _ in python) >= len(asked) / 5  # and some are not
    for door in (by_command, by_mcp, by_page):
        answers: Any = door(memory, asked)
        wrong = [(task, *both) for task, *both in zip(asked, python, answers, strict=True) if both[0] != both[1]]
        assert wrong == [], f"{door.__name__}: {len(wrong)} of {len(asked)} differ"
