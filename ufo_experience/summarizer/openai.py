"""The summarizer that asks a model for the wording. Steps stay those of the log; a faulty answer is not used.

Whatever goes wrong with one item (refusal, content filter, invalid or cut answer, a control that is not in the log,
the service itself), its extractive summary is used instead and `provenance.notes` says
`summary:extractive:<reason>`.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from ufo_experience.embedding.base import Spending
from ufo_experience.errors import ServiceError
from ufo_experience.openai_service.client import SUMMARY, OpenAIService, OpenAISettings
from ufo_experience.openai_service.errors import OpenAICallError
from ufo_experience.schema import Experience, Trajectory
from ufo_experience.summarizer.base import Summary, build_experience, redacted
from ufo_experience.summarizer.extractive import ExtractiveSummarizer, extract
from ufo_experience.summarizer.logtext import render_log
from ufo_experience.summarizer.reply import Reply, UnusableReply, summary_of
from ufo_experience.templates import load_templates
from ufo_experience.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from openai import OpenAI

DEFAULT_MODEL = "gpt-4.1-mini"
INPUT_TOKENS = 24_000
OUTPUT_TOKENS = (2_000, 8_000)  # the second is for an answer that was cut off
_SLOTS = {"system": frozenset[str](), "user": frozenset({"log"})}


class OpenAISummarizer:
    """Asks `model` through Chat Completions with a strict schema. At most two answers per trajectory.

    Raises:
        ServiceError: no key is set (`E_NO_KEY`), which no summary could mend.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        settings: OpenAISettings | None = None,
        service: OpenAIService | None = None,
        input_tokens: int = INPUT_TOKENS,
    ) -> None:
        self.model = model
        self._service = service or OpenAIService(settings or OpenAISettings.from_env())
        reachable = self._service.settings.has_key() or self._service.settings.is_local
        if not reachable:
            raise ServiceError("no key: set OPENAI_API_KEY, or summarize with: extractive", code="E_NO_KEY")
        self._input_tokens = input_tokens
        self._prompts = load_templates("summarize", _SLOTS)
        self._spending = Spending()

    @property
    def name(self) -> str:
        """`openai:<model>`."""
        return f"openai:{self.model}"

    @property
    def spending(self) -> Spending:
        """What this summarizer has asked for so far."""
        return self._spending

    def summarize(self, trajectory: Trajectory) -> Experience:
        """Summarize one redacted trajectory; the extractive summary stands in for an answer that cannot be used.

        Raises:
            DataError: `E_EMPTY`, nothing in it worked and nobody judged it. Nothing was sent.
        """
        trajectory = redacted(trajectory)
        extractive = extract(trajectory)
        try:
            return build_experience(trajectory, self._ask(trajectory), self.name)
        except UnusableReply as fault:
            reason = fault.reason
        except ServiceError as error:
            reason = error.code.removeprefix("E_").lower()
        flagged = extractive.noting(f"summary:extractive:{reason}")
        return build_experience(trajectory, flagged, ExtractiveSummarizer.name)

    def _ask(self, trajectory: Trajectory) -> Summary:
        """One answer, checked against the log; a second try with more room when it was cut off."""
        log, cut = render_log(trajectory, secrets.token_hex(16), self._input_tokens)
        messages = [
            {"role": "system", "content": self._prompts["system"].text},
            {"role": "user", "content": self._prompts["user"].fill({"log": log})},
        ]
        try:
            reply = self._request(messages, OUTPUT_TOKENS[0])
        except OpenAICallError as error:
            if error.code != "E_LENGTH":
                raise
            reply = self._request(messages, OUTPUT_TOKENS[1])
        summary = summary_of(reply, trajectory)
        return summary.noting(f"summary:cut:{cut}") if cut else summary

    def _request(self, messages: list[dict[str, str]], output_tokens: int) -> Reply:
        estimate = estimate_tokens(json.dumps(messages, ensure_ascii=False))
        with self._service.ledger.reserve(self.model, estimate, output_tokens) as bill:

            def send(client: OpenAI) -> Reply:
                self._spending.requests += 1
                raw = client.chat.completions.with_raw_response.parse(
                    model=self.model,
                    messages=messages,  # type: ignore[arg-type]
                    response_format=Reply,
                    max_completion_tokens=output_tokens,
                )
                used = _tokens_used(json.loads(raw.http_response.content), estimate)
                self._spending.tokens += sum(used)
                self._spending.cost += bill.settle(*used)
                return _answer(raw.parse())

            return self._service.call(send, SUMMARY, what=f"summarizing with {self.name}")


def _answer(completion: Any) -> Reply:
    if not completion.choices:
        raise OpenAICallError("the reply holds no answer", code="E_BAD_CONTENT")
    message = completion.choices[0].message
    if message.refusal:
        raise OpenAICallError("the model refused", code="E_REFUSAL")
    if not isinstance(message.parsed, Reply):
        raise OpenAICallError("the answer is empty", code="E_BAD_CONTENT")
    return message.parsed


def _tokens_used(reply: Any, estimate: int) -> tuple[int, int]:
    """(input, output) as the reply bills them; the estimate where it does not say."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    counts = (usage.get("prompt_tokens", estimate), usage.get("completion_tokens", 0))
    used = [count if isinstance(count, int) and count >= 0 else 0 for count in counts]
    return used[0], used[1]
