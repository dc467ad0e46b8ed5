"""Wording lives in `prompts/*.yaml`, not in code. A slot is written `<<name>>` and filled by plain replacement.

In a wheel the folder is inside the package; in a checkout it stands beside it. The packaged one wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from ufo_experience.errors import DataError
from ufo_experience.text import lazy_re as re

_SLOT = re.compile(r"<<([a-z_]+)>>")


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
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"not a readable template file: {error}", file=str(file), code="E_TEMPLATE") from error
    if not isinstance(data, dict):
        raise DataError("not a mapping of names to texts", file=str(file), code="E_TEMPLATE")
    return {key: _check(data.get(key), slots, str(file), key) for key, slots in required.items()}


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
