"""Stage 7, INJECT: hits become few-shot examples in a prompt, within a token budget.

    block = build_prompt("Email Jane about the call", hits, max_tokens=1200)
    block.prompt     the task, the framed examples, a closing sentence; without examples the task, byte for byte
    block.ids        what was shown, best first: report the outcome of the run for these

Examples are whole or absent, and the lowest ranked go first. What a run did is shown as examples in the article's
words ("1. click_input(Button "New Email") - the main page lists mail"), never as calls of tools. See `notation.py` for
the lines and `data_block.py` for the frame.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from ufo_experience.errors import UsageError
from ufo_experience.prompt.data_block import frame, new_nonce, parse_block, strip_block, wording
from ufo_experience.prompt.examples import Example, Fits, text_example, ufo_example
from ufo_experience.prompt.notation import read_step
from ufo_experience.prompt.worth_showing import fits, is_shown_already
from ufo_experience.retrieve.forks import partings, told_apart
from ufo_experience.schema import Experience, Hit, expect
from ufo_experience.text.tokens import estimate_tokens
from ufo_experience.trust.values import Agreement, presentable

__all__ = ["PromptBlock", "build_prompt", "inject", "parse_block", "read_step", "strip_block"]

Format = Literal["text", "messages", "ufo"]
TokenCounter = Callable[[str], int]

RECORD_TOKENS = 600  # a record is told in less detail above this, or above half of a larger budget


@dataclass(frozen=True, repr=False)
class PromptBlock:
    """What to give to the agent, and what it holds.

    `prompt` is the whole prompt in the format asked for. `text` is the block alone, "" when nothing is shown (and in
    UFO's format, which has no block). `tokens` is what memory adds. `dropped` are ids that were offered and not
    shown: over the budget, without a step left, or a failure in UFO's format. `dropped_actions` counts steps left out
    because the agent has no such action. `needed` is the budget that would have shown one example more, None when all
    were shown. `examples` are what was shown, before it was written down.
    """

    prompt: str | list[dict[str, Any]]
    ids: tuple[str, ...] = ()
    tokens: int = 0
    dropped: tuple[str, ...] = ()
    dropped_actions: int = 0
    text: str = ""
    needed: int | None = None
    examples: tuple[Example, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        """The prompt as text; messages and examples as JSON."""
        return self.prompt if isinstance(self.prompt, str) else json.dumps(self.prompt, ensure_ascii=False, indent=1)

    def __repr__(self) -> str:
        return f"<PromptBlock: {len(self.ids)} examples, {self.tokens} tokens>"


def build_prompt(
    task: str,
    hits: Sequence[Hit],
    *,
    max_tokens: int = 1200,
    format: Format = "text",
    allowed_actions: Collection[str] | None = None,
    agreement: Agreement | None = None,
    nonce: str | None = None,
    count_tokens: TokenCounter | None = None,
    now: datetime | None = None,
) -> PromptBlock:
    """Show `hits` (best first, already filtered by trust) as examples for `task`.

    `max_tokens` bounds what is added to the task, by `count_tokens` (default: `estimate_tokens`). Steps whose action
    is not in `allowed_actions` are left out. Of each record only what may be shown for the task is (see
    `trust.values`); `agreement` tells what other runs agree on. `nonce` and `now` are for repeatable output; the nonce
    is fresh otherwise.

    Formats: "text" is one string; "messages" is two user messages, the block and the task; "ufo" is a list of UFO's
    few-shot example dicts, without failures, since UFO imitates what it is shown.

    Raises:
        UsageError: an unknown format, a negative budget, a nonce that is not 32 hex digits or stands in the task.
    """
    _check(task, format, max_tokens, allowed_actions, nonce)
    for hit in hits:
        expect(Hit, hit, "each of hits")
    shape, count = _SHAPES[format], count_tokens or estimate_tokens
    examples, dropped_actions = _admit(task, hits, allowed_actions, agreement, to_imitate=format == "ufo")
    nonce = nonce or new_nonce()
    moment = _aware(now or datetime.now(timezone.utc))
    cap = max(RECORD_TOKENS, max_tokens // 2)
    shown: list[Any] = []
    tokens, short = 0, None
    for example in examples:
        more = [*shown, shape.example(example, lambda text: count(text) <= cap, moment)]
        needed = count(shape.added(more, nonce))
        if needed > max_tokens:
            short = needed
            break
        shown, tokens = more, needed
    ids = tuple(example.experience.id for example in examples[: len(shown)])
    return PromptBlock(
        prompt=shape.prompt(task, shown, nonce),
        ids=ids,
        tokens=tokens,
        dropped=tuple(hit.experience.id for hit in hits if hit.experience.id not in ids),
        dropped_actions=dropped_actions,
        text=frame(shown, nonce) if shown and format != "ufo" else "",
        needed=short,
        examples=tuple(examples[: len(shown)]),
    )


def inject(messages: Sequence[Mapping[str, Any]], block: PromptBlock) -> list[dict[str, Any]]:
    """Copy `messages` with the block as one user message before the last user message; never the system role.

    A block that an earlier call put there is replaced, so injecting twice is injecting once. Content of the caller's
    messages (text or multimodal lists) is passed on as it is. A block that shows nothing changes nothing.

    Raises:
        UsageError: there is no user message, an item is no mapping, or the block is in UFO's format.
    """
    expect(PromptBlock, block, "block")
    if block.ids and not block.text:
        raise UsageError("a block in UFO's format holds no text: pass its examples to UFO")
    if not all(isinstance(message, Mapping) for message in messages):
        raise UsageError("a message is a mapping with role and content")
    if not block.text:
        return [dict(message) for message in messages]
    kept = [dict(message) for message in messages if not _is_block(message)]
    turns = [position for position, message in enumerate(kept) if message.get("role") == "user"]
    if not turns:
        raise UsageError("there is no user message to put the examples before", code="E_NO_USER_TURN")
    return [*kept[: turns[-1]], {"role": "user", "content": block.text}, *kept[turns[-1] :]]


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _check(task: str, format: str, max_tokens: int, allowed_actions: Collection[str] | None, nonce: str | None) -> None:
    if format not in _SHAPES:
        raise UsageError(f"unknown prompt format {format!r}: use one of {', '.join(_SHAPES)}")
    if not isinstance(max_tokens, int) or max_tokens < 0:
        raise UsageError(f"max_tokens is a whole number from 0, not {max_tokens!r}")
    if isinstance(allowed_actions, str):
        raise UsageError("allowed_actions is a collection of names, not one text")
    if nonce and nonce in task:
        raise UsageError("the nonce stands in the task: draw a fresh one")


def _admit(
    task: str,
    hits: Sequence[Hit],
    allowed: Collection[str] | None,
    agreement: Agreement | None,
    *,
    to_imitate: bool,
) -> tuple[list[Example], int]:
    """The examples that can be shown, with the steps to show, and how many steps name an action the agent lacks.

    One that loses all its steps is out; so is, where examples are there `to_imitate`, a failure or mere advice. What
    is not worth showing is not looked at.
    """
    examples: list[Example] = []
    admitted: list[Experience] = []
    lacking = 0
    for hit in hits:
        if not fits(task, hit) or is_shown_already(hit.experience, admitted):
            continue
        presented = presentable(hit.experience, task, agreement)
        experience = presented.experience
        steps = experience.action.steps
        tried = [step for step in steps if step.status != "not_executed"]  # the steps of a plan are nobody's experience
        known = tuple(step for step in tried if allowed is None or step.action_type in allowed)
        lacking += len(tried) - len(known)
        shown = tuple(step for step in known if step.ok) if experience.outcome.success else known
        usable = shown and not experience.is_negative if to_imitate else shown or not steps
        if usable:
            view = hit.model_copy(update={"experience": experience})
            asked = {} if experience.is_negative else presented.confirm
            differs = _differs(hit.experience, [one.experience for one in hits], task)
            examples.append(Example(view, shown, task, asked, presented.optional, differs))
            admitted.append(hit.experience)
    return examples, lacking


def _differs(run: Experience, others: Sequence[Experience], task: str) -> str:
    """Where a run leaves the way of another of the same words, and what of their requests tells them apart."""
    parted = partings(run, others)
    if parted is None:
        return ""
    place, other = parted
    apart = told_apart(run, other, task)
    said = f"asked in the same words, another run went another way from step {place} on"
    return f"{said}: {apart}" if apart else f"{said}; find out which is due"


def _is_block(message: Mapping[str, Any]) -> bool:
    """True for a message that `inject` made: nothing but a block."""
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, str):
        return False
    return content.startswith(wording("preamble")) and not strip_block(content)


@dataclass(frozen=True)
class _Shape:
    """A prompt format: how an example is written, what a list of them adds to the task, and the prompt they make."""

    example: Callable[[Example, Fits, datetime], Any]
    added: Callable[[list[Any], str], str]
    prompt: Callable[[str, list[Any], str], str | list[dict[str, Any]]]


def _added_text(shown: list[str], nonce: str) -> str:
    return f"\n\n{frame(shown, nonce)}\n\n{wording('closing')}"


def _text_prompt(task: str, shown: list[str], nonce: str) -> str:
    return task + _added_text(shown, nonce) if shown else task


def _message_prompt(task: str, shown: list[str], nonce: str) -> list[dict[str, Any]]:
    contents = [frame(shown, nonce), task] if shown else [task]
    return [{"role": "user", "content": content} for content in contents]


_SHAPES: dict[str, _Shape] = {
    "text": _Shape(text_example, _added_text, _text_prompt),
    "messages": _Shape(text_example, frame, _message_prompt),
    "ufo": _Shape(ufo_example, lambda shown, nonce: json.dumps(shown), lambda task, shown, nonce: list(shown)),
}
