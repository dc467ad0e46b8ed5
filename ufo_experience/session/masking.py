"""What must not reach a log: passwords, by the field they are typed into, and what memory put into a prompt.

Redaction proper happens when a log is learned from, over the whole run. Here a log is written line by line, so a
password may stand in an earlier line (the user's request) when it is first typed: the caller then cleans that line.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from ufo_experience.prompt.builder import strip_block
from ufo_experience.redaction.fields import Field, fields_of
from ufo_experience.redaction.parameters import SECRET, rewrite_parameters
from ufo_experience.redaction.text import PLACEHOLDER
from ufo_experience.redaction.vault import Vault
from ufo_experience.schema import Control, Step
from ufo_experience.session.jsonform import plain
from ufo_experience.session.protocols import Command

HIDDEN = "<secret>"

_LOOK_BACK = 32  # steps that tell where the focus is
_LEAST = 4  # shorter secrets are hidden where they are typed only: single keys and PINs occur in any text
_IMAGE = re.compile(r"data:image/[a-z+.-]{1,20};base64,[A-Za-z0-9+/=]+")


class Masker:
    """Remembers the secrets of one session and takes them out of what is written."""

    def __init__(self) -> None:
        self._recent: deque[Step] = deque(maxlen=_LOOK_BACK)
        self._vault = Vault({}, ())
        self.secrets = 0

    def parameters(self, command: Command, observation: str = "") -> dict[str, Any]:
        """The parameters of a command in their JSON form, without what is typed into a password field."""
        step = _as_step(command, observation)
        self._recent.append(step)
        field = fields_of(tuple(self._recent))[-1]
        if command.target is not None and command.target.is_password:
            field = Field(secret=True)
        hidden = rewrite_parameters(step, field, self._hide)
        return {self.text(key): self.value(item) for key, item in hidden.items()}

    def value(self, value: Any) -> Any:
        """A copy of a JSON value: every text in it without secrets, injected blocks and images."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def text(self, text: str) -> str:
        """A text without secrets, injected blocks and images."""
        return self.without_secrets(_IMAGE.sub("<image>", strip_block(text)))

    def without_secrets(self, text: str) -> str:
        """A text without the secrets known so far, however they are escaped in it."""
        return self._vault.without_secrets(text)

    def _hide(self, text: str, role: str) -> str:
        if role != SECRET or not text or PLACEHOLDER.fullmatch(text):
            return text
        if len(text.strip()) < _LEAST:
            return HIDDEN
        placeholder = self._vault.add_secret(text, "password")
        self.secrets = len(self._vault.slots)
        return placeholder


def _as_step(command: Command, observation: str) -> Step:
    target = command.target
    control = Control.model_construct(name=target.name if target else "", type=target.type if target else None)
    return Step.model_construct(  # not checked: whatever an agent did must be possible to write down
        step_number=1,
        observation=observation,
        action_type=command.tool_name,
        target_control=control,
        parameters=plain(dict(command.parameters)),
    )
