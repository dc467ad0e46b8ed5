"""Wording lives in `prompts/*.yaml`, not in code. A slot is written `<<name>>` and filled by plain replacement.

In a wheel the folder is inside the package; in a checkout it stands beside it. The packaged one wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError

_SLOT = re.compile(r"<<([a-z_]+)>>")
_OPENS = re.compile(r"([a-z_]+): >-")
_FOLDED = re.compile(r"  [!-~][ -~]*")  # indented by two; deeper lines are not folded


@dataclass(frozen=True)
class Template:
    """Text with slots, each of which stands in it exactly once."""

    text: str
    slots: frozenset[str]

    def fill(self, values: Mapping[str, str]) -> str:
        """Replace every slot by its value in one pass, so that a value can never open a slot.

        Raises:
            KeyError: a slot has no value.
        """
        return _SLOT.sub(lambda match: values[match.group(1)], self.text)


def load_templates(name: str, required: Mapping[str, frozenset[str]], path: Path | None = None) -> dict[str, Template]:
    """Read `prompts/<name>.yaml` (or the file at `path`): a mapping of template names to texts.

    `required` names the templates that must be there, each with exactly the slots it must have.

    Raises:
        DataError: a template is missing, is not text, or has a slot missing, unknown or repeated.
    """
    file = path or _find(name)
    try:
        text = file.read_text(encoding="utf-8")
        data = _folded_texts(text) or _any_yaml(text)
    except (OSError, ValueError) as error:
        raise DataError(f"not a readable template file: {error}", file=str(file), code="E_TEMPLATE") from error
    if not isinstance(data, dict):
        raise DataError("not a mapping of names to texts", file=str(file), code="E_TEMPLATE")
    return {key: _check(data.get(key), slots, str(file), key) for key, slots in required.items()}


def _folded_texts(text: str) -> dict[str, str]:
    """The texts of a file of nothing but comments and folded blocks of words; empty for any other.

    The wording of the prompt is one, and to load a reader of YAML takes longer than a question.
    """
    found: dict[str, list[str]] = {}
    block: list[str] | None = None
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            block = None
        elif (opened := _OPENS.fullmatch(line)) and opened[1] not in found:
            block = found[opened[1]] = []
        elif block is not None and _FOLDED.fullmatch(line):
            block.append(line[2:])
        else:
            return {}
    return {key: " ".join(words) for key, words in found.items()} if all(found.values()) else {}


def _any_yaml(text: str) -> Any:
    """What a YAML file holds. Raises `ValueError`."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _find(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    packaged = package / "prompts" / f"{name}.yaml"
    return packaged if packaged.is_file() else package.parent / "prompts" / f"{name}.yaml"


def _check(text: object, slots: frozenset[str], file: str, key: str) -> Template:
    if not isinstance(text, str):
        raise DataError("missing, or not text", file=file, field=key, code="E_TEMPLATE")
    found = _SLOT.findall(text)
    if sorted(found) != sorted(slots):
        wanted = ", ".join(sorted(slots)) or "none"
        raise DataError(f"needs each of these slots exactly once: {wanted}", file=file, field=key, code="E_TEMPLATE")
    return Template(text, slots)
