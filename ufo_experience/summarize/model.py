"""The summarizer that asks a model for the wording. Steps stay those of the log; a faulty answer is not used.

The model gets wording (`prompts/*.yaml`) and the log of the run as data between markers, and answers a strict schema.
Whatever goes wrong with one item (refusal, content filter, invalid or cut answer, a control that is not in the log,
the service itself), its extractive summary is used and `provenance.notes` says `summary:extractive:<reason>`.
"""

import json
import re
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from ufo_experience.costs import Spending
from ufo_experience.errors import ServiceError
from ufo_experience.redact import redact_text
from ufo_experience.request import Request, estimate_tokens, find_whole, words
from ufo_experience.schema import MAX_NAME, MAX_WORDINGS, Step, Trajectory, clip
from ufo_experience.service import DEFAULT_CHAT, Service
from ufo_experience.summarize.base import Summarizer, Summary
from ufo_experience.summarize.detours import has_effect, is_skipped
from ufo_experience.summarize.extractive import ExtractiveSummarizer

INPUT_TOKENS = 24_000
OUTPUT_TOKENS = 8_000
_MOST_SENTENCES = 5
_SENTENCE_LENGTH = 300
_MEANING_LENGTH = 60
_LEAST_VALUE = 4
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_RESULT_LENGTH = 200
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^“”]+)”|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")


class Answer(BaseModel):
    """What a model may answer: these fields, of these types, and no others."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)


class Sentence(Answer):
    """A sentence, and the controls and windows it names."""

    text: str
    controls: list[str]


class SlotMeaning(Answer):
    slot: str
    meaning: str


class Reply(Answer):
    """The answer a model gives, as a strict schema."""

    intent: str
    wordings: list[str]
    steps: list[int]
    slots: list[SlotMeaning]
    tips: list[Sentence]
    preconditions: list[Sentence]
    avoid_when: list[Sentence]
    failure_reason: str | None


class UnusableReply(Exception):  # noqa: N818 (never leaves the summarizer)
    """The answer does not keep to the log; the argument is a word for the record's notes."""


def wording(name: str) -> dict[str, str]:
    """The texts of `prompts/<name>.yaml`: in a wheel the folder is inside the package, in a checkout beside it."""
    import yaml

    package = Path(__file__).resolve().parents[1]
    files = [folder / "prompts" / f"{name}.yaml" for folder in (package, package.parent)]
    texts: dict[str, str] = yaml.safe_load(next(file for file in files if file.is_file()).read_text("utf-8"))
    return texts


def render_log(trajectory: Trajectory, nonce: str, budget: int) -> tuple[str, str | None]:
    """The log between two markers with `nonce`, and what was left out to keep to `budget` tokens.

    Observations go first, then results and plan, then steps in the middle (the numbers of the others stay). Texts pass
    redaction once more. `<`, `>` and `&` are escaped, so that nothing in a log can write a marker.
    """
    steps = [_step(number, step) for number, step in enumerate(trajectory.steps, 1)]
    plan = list(trajectory.plan)
    text = _frame(trajectory, steps, plan, nonce)
    cut = None
    for part, lines in (("observation", plan), ("result", [])):
        if estimate_tokens(text) > budget:
            steps = [{name: value for name, value in step.items() if name != part} for step in steps]
            text, cut = _frame(trajectory, steps, lines, nonce), f"{part}s"
    while len(steps) > 2 and estimate_tokens(text) > budget:
        keep = max(2, len(steps) * 3 // 4)
        steps = steps[: keep // 2] + steps[len(steps) - (keep - keep // 2) :]
        text, cut = _frame(trajectory, steps, [], nonce), "steps"
    return text, cut


def _frame(trajectory: Trajectory, steps: list[dict[str, Any]], plan: list[str], nonce: str) -> str:
    said = {
        "request": trajectory.request,
        "sub_task": trajectory.subtask,
        "applications": trajectory.applications,
        "success": trajectory.outcome.success,
        "failure_reason": trajectory.outcome.failure_reason,
        "placeholders": trajectory.slots,
        "plan": plan,
    }
    body = json.dumps({**_clean(said), "steps": steps}, ensure_ascii=False).translate(_ESCAPES)
    return f"<<<log {nonce}>>>\n{body}\n<<<end-log {nonce}>>>"


def _step(number: int, step: Step) -> dict[str, Any]:
    said = {
        "number": number,
        "observation": step.observation,
        "action": step.action_type,
        "control": step.target_control.name,
        "control_type": step.target_control.type,
        "parameters": step.parameters,
        "result": step.result[:_RESULT_LENGTH],
        "error": step.error,
        "application": step.application,
    }
    return {key: _clean(value) for key, value in said.items() if value not in (None, "", {})}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value


# ---- the answer ----


def _checked(reply: Reply, trajectory: Trajectory, own: Summary) -> Summary:
    """The words of an answer on the steps of the log; `own` is what the log says by itself. Raises `UnusableReply`."""
    chosen = _kept_steps(reply.steps, trajectory)
    steps = tuple(step for step in chosen if step.step_number not in own.detours) or chosen
    _check_controls(reply, trajectory)
    request = Request.parse(trajectory.task)
    known = _stems(request).union(*(words(step.target_control.name) for step in steps))
    intent = _intent(reply.intent, trajectory)
    agrees = 2 * len(_stems(request) & set(words(intent))) >= len(_stems(request))
    worded, told = _wordings(reply.wordings, trajectory), _sentences(reply.tips)
    tips = tuple(one for one in told if known & set(words(one)))
    # whoever words another task words others for it, too
    values = [value.text.casefold() for value in request.values]
    ours = (one for one in worded if known & set(words(one)) or any(find_whole(v, one.casefold()) >= 0 for v in values))
    wordings = tuple(ours) if agrees else ()
    meanings = ((one.slot.strip("{}"), re.sub(r"[()]", "", _sentence(one.meaning))) for one in reply.slots)
    dropped = len(trajectory.steps) - len(steps)
    notes = {
        f"steps:dropped:{dropped}": dropped,
        "summary:not of the request:intent": not agrees,
        "summary:not of the request:wordings": wordings != worded,
        "summary:not of the request:tips": tips != told,
    }
    return replace(
        own,
        intent=intent if agrees else own.intent, wordings=wordings, steps=steps, tips=tips,
        preconditions=_sentences(reply.preconditions), avoid_when=_sentences(reply.avoid_when),
        failure_reason=own.failure_reason and (_sentence(reply.failure_reason or "") or own.failure_reason),
        meanings=tuple((slot, one) for slot, one in meanings if one and len(one) <= _MEANING_LENGTH),
        notes=tuple(note for note, holds in notes.items() if holds),
    )  # fmt: skip


def _kept_steps(numbers: list[int], trajectory: Trajectory) -> tuple[Step, ...]:
    """The steps with these positions (from 1) in the log; order and repeats are the log's."""
    if not all(1 <= number <= len(trajectory.steps) for number in numbers):
        raise UnusableReply("unknown_step")
    failed = trajectory.outcome.success is False
    chosen = [trajectory.steps[number - 1] for number in sorted(set(numbers))]
    kept = tuple(step for step in chosen if has_effect(step) and not is_skipped(step) and (step.ok or failed))
    if not kept and trajectory.steps:
        raise UnusableReply("no_steps")
    return kept


def _check_controls(reply: Reply, trajectory: Trajectory) -> None:
    """Every control a sentence names must be one of the log, also when it is only quoted."""
    sentences = [*reply.tips, *reply.preconditions, *reply.avoid_when]
    steps = trajectory.steps
    names = {*trajectory.applications, *(name for s in steps for name in (s.target_control.name, s.application or ""))}
    named = {_plain(name) for sentence in sentences for name in sentence.controls}
    logged = _plain(trajectory.model_dump_json(exclude={"problems", "source_files"}).replace('\\"', '"'))
    texts = [*(sentence.text for sentence in sentences), reply.failure_reason or ""]
    quoted = [_plain("".join(match.groups(""))) for text in texts for match in _QUOTED.finditer(text)]
    if not named <= set(map(_plain, names)) or not all(one in logged for one in quoted):
        raise UnusableReply("unknown_control")


def _stems(request: Request) -> frozenset[str]:
    """The words of a request that say what to do to what: no values, and none so short that it says nothing."""
    pairs = zip(request.words, request.kinds, strict=True)
    return frozenset(word for word, kind in pairs if not kind and (len(word) > 2 or not word.isascii()))


def _intent(text: str, trajectory: Trajectory) -> str:
    """The intent, its values masked by us if the model left one in."""
    intent = _sentence(text)
    if not intent:
        raise UnusableReply("no_intent")
    application = {_plain(name) for name in trajectory.applications}
    values = [one.text for one in Request.parse(trajectory.task).values if one.kind != "name"]
    leaked = [v for v in values if len(v) >= _LEAST_VALUE and _plain(v) not in application and v in intent]
    return Request.parse(intent).template if leaked else intent


def _wordings(texts: list[str], trajectory: Trajectory) -> tuple[str, ...]:
    """The other wordings that differ from the request and say more than one word; values stay, as in the request."""
    new: dict[str, str] = {}
    for text in texts:
        if " " in (plain := _plain(text)) and plain != _plain(trajectory.task):
            new.setdefault(plain, _sentence(text, MAX_NAME))
    return tuple(new.values())[:MAX_WORDINGS]


def _sentences(sentences: list[Sentence]) -> tuple[str, ...]:
    return tuple(_sentence(sentence.text) for sentence in sentences[:_MOST_SENTENCES] if sentence.text.strip())


def _sentence(text: str, limit: int = _SENTENCE_LENGTH) -> str:
    return clip(redact_text(" ".join(text.split())), limit)


def _plain(text: str) -> str:
    return " ".join(text.replace("\u200b", "").casefold().split())


class OpenAISummarizer(Summarizer):
    """Asks `model`, once per trajectory. Raises `ServiceError` (`E_NO_KEY`) where no key is set."""

    def __init__(
        self, model: str = DEFAULT_CHAT, *, service: Service | None = None, input_tokens: int = INPUT_TOKENS
    ) -> None:
        self.model, self.name = model, f"openai:{model}"
        self._service = service or Service()
        if not self._service.access.is_usable:
            raise ServiceError("no key: set OPENAI_API_KEY, or summarize with: extractive", code="E_NO_KEY")
        self._input_tokens = input_tokens

    @property
    def spending(self) -> Spending:
        return self._service.ledger.spending

    def summary(self, trajectory: Trajectory) -> Summary:
        """What the model says; the extractive summary stands in for an answer that cannot be used."""
        own = ExtractiveSummarizer().summary(trajectory)
        try:
            return replace(self._ask(trajectory, own), by=self.name)
        except UnusableReply as fault:
            reason = str(fault)
        except ServiceError as error:
            reason = error.code.removeprefix("E_").lower()
        return replace(own, notes=(*own.notes, f"summary:extractive:{reason}"))

    def _ask(self, trajectory: Trajectory, own: Summary) -> Summary:
        """One answer, checked against the log."""
        log, cut = render_log(trajectory, secrets.token_hex(16), self._input_tokens)
        texts = wording("summarize")
        asked = texts["user"].replace("<<log>>", log)
        messages = [{"role": "system", "content": texts["system"]}, {"role": "user", "content": asked}]
        reply = self._service.ask(messages, Reply, model=self.model, job=True, max_tokens=OUTPUT_TOKENS)
        summary = _checked(reply, trajectory, own)
        return replace(summary, notes=(*summary.notes, f"summary:cut:{cut}")) if cut else summary
