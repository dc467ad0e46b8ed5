"""Slots that no rule can bind, bound by one question to a model. It fails closed: without an answer they stay open."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from ufo_experience.errors import ServiceError
from ufo_experience.procedure.binding import Binder
from ufo_experience.redact import redact_text
from ufo_experience.service import Service
from ufo_experience.text.templates import load_templates

DEFAULT_MODEL = "gpt-4.1-mini"
TIMEOUT = 15.0  # seconds
OUTPUT_TOKENS = 300

_log = logging.getLogger(__name__)


class Bound(BaseModel):
    """A slot and its value; None when the task does not say."""

    model_config = ConfigDict(extra="forbid")

    slot: str
    value: str | None


class Reply(BaseModel):
    """What the model answers, as a strict schema."""

    model_config = ConfigDict(extra="forbid")

    slots: list[Bound]


def model_binder(service: Service, model: str = DEFAULT_MODEL) -> Binder:
    """A binder that asks `model` once for each way; for `ExperienceMemory.guide(binder=…)`.

    The task is redacted before it is sent. What the model answers counts only if it stands in the task (see
    `binding.bind`); when it cannot be asked, or refuses, nothing is bound and the reason is logged.
    """
    system = load_templates("bind_slots", {"system": frozenset()})["system"].text

    def ask(task: str, slots: Mapping[str, str]) -> Mapping[str, str]:
        asked = json.dumps({"task": redact_text(task), "slots": dict(slots)}, ensure_ascii=False)
        try:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
            reply = service.ask(messages, Reply, model=model, timeout=TIMEOUT, max_tokens=OUTPUT_TOKENS)
        except ServiceError as error:
            _log.warning("open slots stay open: %s", error)
            return {}
        return {one.slot: one.value for one in reply.slots if one.value}

    return ask
