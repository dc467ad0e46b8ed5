"""Lists that authors wrote before they had seen a rule: poisoned runs, everyday runs, secrets, harmless texts.

The lists of authors A to G were measured once and then used to mend. Those of M, N and P are by who mended, most
written before the rules were read, and used to mend. The bounds are the level reached.
"""

from __future__ import annotations

import base64
import json
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ufo_experience.trust.confirm import confirms
from ufo_experience.trust.values import presentable

from ufo_experience.integrations.formats.triple import from_triple
from ufo_experience.prompt.builder import build_prompt
from ufo_experience.redact import redact_record, redact_text
from ufo_experience.schema import Experience, Hit, Trust

DATA = Path(__file__).parent / "data" / "safety"
Row = dict[str, Any]


@cache
def rows(name: str) -> list[Row]:
    """The rows of a list; secrets are kept encoded, so that no scanner of repositories trips over them."""
    if (plain := DATA / f"{name}.jsonl").exists():
        return [json.loads(line) for line in plain.read_text(encoding="utf-8").splitlines()]
    lines = (DATA / f"{name}.b64").read_text(encoding="ascii").splitlines()
    return [json.loads(base64.b64decode(line)) for line in lines]


def by(name: str, author: str) -> list[Row]:
    return [row for row in rows(name) if row["author"] == author]


def record(row: Row) -> Experience:
    """A verified record of a row's steps, through the gate of every store."""
    steps = [
        {
            "step_number": number,
            "action_type": step["action"],
            "target_control": {"name": step["control"], "type": step["control_type"]},
            "parameters": {
                **({"text": step["text"]} if "text" in step else {}),
                **({"params": step["params"]} if "params" in step else {}),
            },
            "observation": " ".join(step[key] for key in ("observation", "thought") if key in step),
            "application": step.get("window_title"),
        }
        for number, step in enumerate(row["steps"], 1)
    ]
    state = {"task": row["task"], "request": row["task"], "application": row["application"]}
    outcome = {"success": True, "evaluated_by": "user"}
    return redact_record(from_triple(state, {"steps": steps}, outcome, trust=Trust.VERIFIED))


def shown(one: Experience, task: str) -> str:
    """All formats of the prompt for a task that is answered with one record."""
    hit = Hit(experience=one, score=0.9, ranked_by="fused")
    prompts = [build_prompt(task, [hit], max_tokens=9000, format=form).prompt for form in ("text", "messages", "ufo")]  # type: ignore[arg-type]
    text = "\n".join(json.dumps(prompt, ensure_ascii=False) for prompt in prompts)
    for _ in range(3):
        text += text.replace('\\"', '"').replace("\\\\", "\\").replace("\\u003c", "<").replace("\\u003e", ">")
    return text


def visible(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != "Cf")


@pytest.mark.parametrize("author", ["A", "B", "C", "D", "E", "F", "G", "M"])
def test_no_payload_of_a_poisoned_run_reaches_a_prompt(author):
    """Judged a success, alone in its store, asked for with its own words or with like ones: none.

    A payload that the task asked names itself is the user's own.
    """
    broken = []
    for row in by("poison", author):
        tasks = [task for task in (row["query"], row["task"]) if not any(one in task for one in row["payload"])]
        prompts = "".join(shown(record(row), task) for task in tasks)
        # A payload of invisible characters alone leaves nothing to look for once these are taken out.
        forms = {form for payload in row["payload"] for form in (payload, visible(payload)) if form}
        if any(form in prompts for form in forms):
            broken.append(row["id"])
    assert broken == []


@pytest.mark.parametrize(
    ("author", "least", "most"),
    [
        ("A", 0.86, 9),
        ("B", 0.86, 3),
        ("C", 0.86, 12),
        ("D", 0.86, 12),
        ("E", 0.86, 17),
        ("F", 0.86, 27),
        ("G", 0.8, 13),
    ],
)
def test_everyday_runs_are_shown_with_the_steps_to_ask_before(author, least, most):
    """None is held back whole; this share of the steps to ask before is marked at least, and few others (`most`)."""
    due = marked = others = 0
    for row in by("everyday", author):
        one = record(row)
        assert build_prompt(row["query"], [Hit(experience=one, score=0.9, ranked_by="fused")]).ids
        found = {number - 1 for number in confirms(presentable(one, row["query"]).experience.action.steps)}
        found |= {number - 1 for number in confirms(one.action.steps)}
        due += len(row["expect_confirm"])
        marked += len(found & set(row["expect_confirm"]))
        others += len(found - set(row["expect_confirm"]))
    assert marked >= least * due
    assert others <= most


@pytest.mark.parametrize(
    ("author", "most"),
    [("A", 0), ("B", 1), ("C", 0), ("D", 2), ("E", 0), ("F", 1), ("G", 0), ("M", 3), ("N", 6), ("P", 1)],
)
def test_secrets_in_running_text_are_taken_out(author, most):
    kept = [row["id"] for row in by("secrets", author) if row["secret"] in redact_text(row["text"])]
    assert len(kept) <= most, kept


@pytest.mark.parametrize(
    ("author", "most"), [("A", 0), ("B", 0), ("C", 0), ("D", 0), ("E", 0), ("F", 0), ("G", 0), ("M", 0), ("N", 0)]
)
def test_a_typed_password_is_taken_out_in_every_form(author, most):
    """Upper case, reversed, spaced out, encoded, in parts, in titles, verbs, names and deep parameters."""
    kept = []
    for row in by("typed_secrets", author):
        text = record(row).model_dump_json()
        if any(form in text or json.dumps(form)[1:-1] in text for form in row["forms"] if len(form) > 4):
            kept.append(row["id"])
    assert len(kept) <= most, kept


@pytest.mark.parametrize(
    ("author", "most"),
    [("A", 0), ("B", 1), ("C", 1), ("D", 2), ("E", 0), ("F", 2), ("G", 2), ("M", 0), ("N", 2), ("P", 0)],
)
def test_harmless_texts_stay_as_they_are(author, most):
    changed = [row["id"] for row in by("harmless", author) if redact_text(row["text"]) != row["text"]]
    assert len(changed) <= most, changed
