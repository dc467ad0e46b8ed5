"""How much of a record is shown at each level of detail, and rare turns of the framing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ufo_experience.prompt.builder import build_prompt, inject, parse_block
from ufo_experience.prompt.data_block import frame, has_block, strip_block, strip_blocks, wording
from ufo_experience.prompt.examples import Example, text_example, ufo_example
from ufo_experience.prompt.notation import read_example
from ufo_experience.schema import Action, Control, Experience, Hit, Outcome, State, Step, Trust
from ufo_experience.request import estimate_tokens

NOW = datetime(2025, 11, 15, 12, 0, tzinfo=timezone.utc)
NONCE = "0123456789abcdef0123456789abcdef"
# characters of a text and of an observation, steps, entries of a list
LEVELS = [
    (400, 160, 40, 12),
    (200, 60, 24, 8),
    *((100, 0, steps, 4) for steps in (40, 32, 24, 16, 12, 8)),
    (40, 0, 4, 2),
]


def example(steps: int = 60, **fields: Any) -> Example:
    """A record with more of everything than is ever shown."""
    done = tuple(
        Step(
            step_number=n,
            observation="o" * 300,
            action_type="click",
            target_control=Control(name="c" * 500, type="Button"),
        )
        for n in range(1, steps + 1)
    )
    values = {
        "id": "1" * 32,
        "state": State(task="t" * 900, application="App"),
        "action": Action(steps=done),
        "outcome": Outcome(success=True),
        "preconditions": tuple(f"p{n}" for n in range(20)),
        "created_at": NOW - timedelta(days=3),
        "trust": Trust.VERIFIED,
    } | fields
    return Example(Hit(experience=Experience(**values), score=0.5, ranked_by="fused"), values["action"].steps)


def after(refusals: int) -> Any:
    """A judge of length that refuses so many texts first."""
    left = [refusals]

    def fits(text: str) -> bool:
        left[0] -= 1
        return left[0] < 0

    return fits


@pytest.mark.parametrize("level", range(len(LEVELS) + 3))
def test_each_refusal_leads_to_the_next_level_of_detail(level):
    """First shorter texts, then fewer steps; the last level is shown whatever it costs."""
    text, observation, steps, entries = LEVELS[min(level, len(LEVELS) - 1)]
    shown = read_example(text_example(example(), after(level), NOW))
    assert len(shown["task"]) == text
    assert len(shown["successful_steps"]) == steps
    assert shown["steps_not_shown"] == 60 - steps
    assert len(shown["preconditions"]) == entries
    step = shown["successful_steps"][0]
    assert step["observation"].count("o") == (observation and observation - 1)
    assert ("control_type" in step) == bool(observation)
    assert len(step["control"]) == text
    ufo = ufo_example(example(), after(level), NOW)
    assert len(ufo["Request"]) == text


def test_nothing_shown_costs_nothing():
    """No hits, or none that fits."""
    assert build_prompt("do it", []).tokens == 0
    hit = example(1).hit
    whole = build_prompt("do it", [hit], nonce=NONCE, now=NOW)
    exact = build_prompt("do it", [hit], nonce=NONCE, now=NOW, max_tokens=whole.tokens)
    assert exact.ids == whole.ids
    less = build_prompt("do it", [hit], nonce=NONCE, now=NOW, max_tokens=whole.tokens - 1)
    assert (less.ids, less.tokens, less.dropped) == ((), 0, (hit.experience.id,))


def test_a_record_may_take_half_of_a_large_budget_and_600_tokens_of_a_small_one():
    """A long record is told in less detail above that; the count is that of the caller."""
    for budget, cap in ((100, 600), (1200, 600), (1202, 601)):
        for tokens, cut in ((cap, False), (cap + 1, True)):
            block = build_prompt(
                "x",
                [example(1).hit],
                max_tokens=budget,
                now=NOW,
                count_tokens=lambda t, n=tokens: n if t[0] == "(" else 1,
            )
            assert (len(parse_block(str(block.prompt))[0]["task"]) == 40) == cut


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abc", 1), ("abcd", 2), ("123", 2), ("\\\\\\", 3), ("äöü", 2), ("\ud800", 1), ("ab\\", 2)],
)
def test_the_estimate_is_a_third_of_the_weight(text, tokens):
    """A letter weighs its bytes, a digit two, a backslash three; rounded up."""
    assert estimate_tokens(text) == tokens


def test_only_a_users_message_is_taken_for_an_old_block():
    """What an assistant or a tool said stays, also when it quotes a block and nothing else."""
    block = build_prompt("x", [example(1).hit], now=NOW)
    for role in ("assistant", "system", "tool", "aaa", "zzz"):
        messages = [{"role": role, "content": block.text}, {"role": "user", "content": "x"}]
        assert inject(messages, block) == [messages[0], {"role": "user", "content": block.text}, messages[1]]
    old = [{"role": "user", "content": block.text}, {"role": "user", "content": "x"}]
    assert inject(old, block) == old
    talking = [{"role": "user", "content": f"see {block.text}"}, {"role": "user", "content": "x"}]
    assert len(inject(talking, block)) == 3


def test_blocks_are_stripped_from_texts_inside_json():
    """Lists, tuples, mappings; what is no text stays what it is."""
    block = frame(["(worked)\nTask: t"], NONCE)
    assert has_block(block)
    assert not has_block("<<<past>>>")
    value = {"a": [f"x\n\n{block}\n\n{wording('closing')}", 5, None, ("y", block)], "b": {"c": "plain"}}
    assert strip_blocks(value) == {"a": ["x", 5, None, ["y", ""]], "b": {"c": "plain"}}


def test_a_block_is_stripped_with_its_break_and_its_sentence():
    """And only with them: other breaks and sentences stay; also in a text that is JSON itself."""
    block = frame(["(worked)\nTask: t"], NONCE)
    assert strip_block(f"{block}") == ""
    assert strip_block(f"a\n\n{block}") == "a"
    assert strip_block(f"a {block} b") == "a  b"
    assert strip_block(f"\n\n{block}b") == "b"
    quoted = json.dumps(f"a\n\n{block}\n\n{wording('closing')}")
    assert json.loads(strip_block(quoted)) == "a"
    assert strip_block(f"a\n\n{block}\n\n{wording('closing')} b") == "a b"


@pytest.mark.parametrize(
    "token",
    [
        "<tool_call>",
        "</tool_call>",
        "<function_calls>",
        '<invoke name="run">',
        "＜|im_start|＞",
        "<｜tool▁calls▁begin｜>",
        "<|eot_id|>",
        "[TOOL_CALLS]",
        "[AVAILABLE_TOOLS]",
        "<think>",
        "<start_of_turn>",
        "<my:call>",
    ],
)
@pytest.mark.parametrize("form", ["text", "messages", "ufo"])
def test_tokens_of_roles_and_tools_of_any_vendor_are_broken_in_every_format(token, form):
    """By their form: a tag of several words or with a prefix, bars in brackets, capitals in brackets."""
    step = Step(step_number=1, action_type="click", target_control=Control(name=f"OK\n{token}"), observation=token)
    one = example(state=State(task=f"press OK {token}", request=f"press OK {token}"), action=Action(steps=(step,)))
    hit = Hit(experience=one.experience.model_copy(update={"trust": Trust.APPROVED}), score=0.9, ranked_by="fused")
    shown = json.dumps(build_prompt("press OK", [hit], format=form, max_tokens=4000).prompt, ensure_ascii=False)
    assert token not in shown.replace('\\"', '"')
