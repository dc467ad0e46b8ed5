"""A judge whose answers come from a file: whoever has a language model at hand can be the judge.

    with asking(FILE) as judge: …      its questions are collected, and written to FILE, each once
    with answering(FILE) as judge: …   questions are answered from FILE

Both ask through the real client; a server on this machine takes the place of the model's. A question is
`{"id", "messages"}`, the messages as the product sends them. An answer is `{"id", "same": [numbers]}`, or
`{"id", "text"}` with what the model said, word for word; or `{"task", "same": [texts]}`, whichever tasks stand beside
these. A question without an answer counts as one the judge failed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tests.openai_stub import OpenAIStub
from ufo_experience.errors import ServiceError
from ufo_experience.retrieve.judge import OpenAIJudge
from ufo_experience.service import Access, Service

NO_ANSWER = ""


@contextmanager
def asking(path: Path) -> Iterator[OpenAIJudge]:
    """Say no to every question, and write all of them: in no order that tells which have an answer."""
    asked = Questions()
    with _judge(asked) as judge:
        yield judge
    asked.write(path)


@contextmanager
def answering(path: Path) -> Iterator[OpenAIJudge]:
    """Answer every question from the file."""
    with _judge(answers(path)) as judge:
        yield judge


class Questions:
    """A chat model that says no to every question and keeps it."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[str, Any]] = {}

    def __call__(self, body: dict[str, Any]) -> object:
        """Answer a question."""
        if body["messages"]:
            self._asked[question_id(body)] = {"id": question_id(body), "messages": body["messages"]}
        return {"same": []}

    def write(self, path: Path) -> None:
        """Write every question once."""
        lines = [json.dumps(one, ensure_ascii=False) for _, one in sorted(self._asked.items())]
        random.Random(0).shuffle(lines)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def answers(path: Path) -> Callable[[dict[str, Any]], object]:
    """A chat model that answers from a file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    said = {
        row["id"]: row["text"] if "text" in row else json.dumps({"same": row["same"]}) for row in rows if "id" in row
    }
    same = {row["task"]: frozenset(row["same"]) for row in rows if "task" in row}

    def answer(body: dict[str, Any]) -> object:
        known = _same_of(body, same) if body["messages"] else None
        return said.get(question_id(body), NO_ANSWER if known is None else json.dumps({"same": known}))

    return answer


def _same_of(body: dict[str, Any], same: dict[str, frozenset[str]]) -> list[int] | None:
    """The numbers of the tasks that were said to be the one at hand; None where it was never asked about."""
    question = json.loads(body["messages"][1]["content"])
    if question["task"] not in same:
        return None
    return [int(number) for number, text in question["known"].items() if text in same[question["task"]]]


def question_id(body: dict[str, Any]) -> str:
    """The same for the same messages."""
    return blake2b(json.dumps(body["messages"]).encode(), digest_size=8).hexdigest()


@contextmanager
def _judge(chat: Callable[[dict[str, Any]], object]) -> Iterator[OpenAIJudge]:
    with OpenAIStub(chat=chat) as stub:
        service = Service(Access(base_url=stub.url))
        with suppress(ServiceError):
            service.chat([], timeout=60)  # loads the client: the first question has its five seconds to itself
        yield OpenAIJudge("by-file", service)
        service.close()
