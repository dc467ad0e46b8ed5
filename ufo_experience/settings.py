"""Settings: file < environment < argument.

The file is `ufo_experience.yaml` in the working folder, or the one `UFO_EXPERIENCE_CONFIG` names. Every setting has
an environment variable: `UFO_EXPERIENCE_` and its name in capitals. Keys of services never stand in the file.
"""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from typing_extensions import Self

from ufo_experience.errors import FIELDS_OF, DataError, UsageError, names_methods, nearest, plain_words
from ufo_experience.schema import Trust

PREFIX = "UFO_EXPERIENCE_"
CONFIG_VARIABLE = "UFO_EXPERIENCE_CONFIG"
OTHER_VARIABLES = frozenset(PREFIX + name for name in ("CONFIG", "CACHE"))
DEFAULT_FILE = "ufo_experience.yaml"
_log = logging.getLogger(__name__)
Threshold = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
OrOff = Annotated[str, BeforeValidator(lambda said: "off" if said in (False, "false", "no") else said)]
Chat = Annotated[OrOff, Field(pattern=r"^(auto|off|openai:.+)$")]


@names_methods
class Settings(BaseModel):
    """What can be configured; the description of each field is its line in `docs/settings.md`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    db: Annotated[str, Field(min_length=1), AfterValidator(os.path.expanduser)] = "experience_db"
    """The store: a folder (`~` is your home folder), or the URL of a PostgreSQL database."""

    embedder: str = "auto"
    """What turns texts into vectors: `hashing`, `openai:MODEL`, `azure:DEPLOYMENT`, `local:MODEL`, `model2vec:FOLDER`;
    `auto` is that of the index, for a new store OpenAI's if a key is set, else `hashing`."""

    summarizer: str = "extractive"
    """Who words the records of `ingest`: `extractive` (rules, nothing is sent), `openai`, `openai:MODEL` (redacted
    logs go to that model), or `auto`: OpenAI if a key is set."""

    top_k: Annotated[int, Field(ge=1, le=50)] = 3
    """How many experiences an answer holds at most, 1 to 50."""

    threshold: Threshold | Literal["auto"] = "auto"
    """The lowest score that is served, a number from 0 to 1; `auto` is the calibrated one, else 0.75."""

    judge: Chat = "auto"
    """A chat model that is asked which of the best hits are the task at hand: `openai:MODEL`; `auto` asks OpenAI's if
    a key is set, `off` nobody. While it cannot answer, the score does, and the answer says `degraded`."""

    max_tokens: Annotated[int, Field(ge=1)] = 1200
    """Budget of the few-shot block, in tokens."""

    min_trust: Trust | None = None
    """The least trust a record must have to be shown; unset: `verified`, in a store shared with others `approved`.
    Imported records take `approved`."""

    allow_http_service: bool = False
    """Ask a model service inside your own network over http:// (vLLM, Ollama), without TLS."""

    max_cost: Annotated[float, Field(ge=0.0)] | None = None
    """What one run may spend on model services, in US dollars; unset: no limit."""

    keep_observations: Literal["none", "short", "full"] = "short"
    """What is kept of what a step saw: `none`, `short` (a sentence of 120 characters), `full`; always redacted."""

    audit: bool = True
    """Keep a line of each prompt that memory added to, and of each task nothing was known for (`audit.jsonl` in the
    store)."""

    @model_validator(mode="wrap")
    @classmethod
    def _in_our_words(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return build(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise UsageError(_explained(str(first["loc"][0]), first["type"], first["msg"], first["input"])) from error


FIELDS_OF["settings"] = Settings.model_fields


def load_settings(
    *,
    base: Settings | None = None,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    **arguments: Any,
) -> Settings:
    """Merge file, environment and arguments (None means not given); `base` stands in place of file and environment.

    Raises:
        UsageError: a key is unknown (the nearest valid one is named), or a value does not fit; the file is named.
    """
    if base is not None and not isinstance(base, Settings):
        raise UsageError(f"settings is a Settings object, not {type(base).__name__}")
    env = os.environ if environment is None else environment
    variables = {PREFIX + name.upper(): name for name in Settings.model_fields}
    for name in env:  # nothing that looks like a setting is ignored in silence
        if not name.startswith(PREFIX) or name in variables or name in OTHER_VARIABLES:
            continue
        if near := nearest(name.removeprefix(PREFIX).lower(), Settings.model_fields):
            meant = " or ".join(PREFIX + one.upper() for one in near.split(" or "))
            raise UsageError(f"unknown variable {name}; did you mean {meant}?")
        if base is None:
            known = ", ".join(Settings.model_fields).upper()
            _log.warning("the variable %s is no setting and is ignored; there are %s and: %s", name, PREFIX, known)
    given = {name: value for name, value in arguments.items() if value is not None}
    if base is not None:
        return Settings.model_validate({**base.model_dump(exclude_unset=True), **given})  # what was open stays open
    chosen = file or (Path(env[CONFIG_VARIABLE]) if env.get(CONFIG_VARIABLE) else None)
    for other in Path().glob("ufo_experience.*") if chosen is None else ():
        if other.suffix in (".yml", ".toml", ".json", ".ini"):
            _log.warning("%s is not read: settings stand in %s", other, DEFAULT_FILE)
    from_file = _from_file(chosen or Path(DEFAULT_FILE)) if chosen or Path(DEFAULT_FILE).is_file() else {}
    set_so = {variable: env[variable] for variable in variables if env.get(variable)}
    from_env = {variables[one]: value for one, value in set_so.items() if _checked({variables[one]: value}, one)}
    return Settings.model_validate({**from_file, **from_env, **given})


def _explained(name: str, kind: str, message: str, value: Any) -> str:
    """What is wrong with a setting, in words of the setting."""
    if kind == "extra_forbidden":
        near = nearest(name, Settings.model_fields)
        return f"unknown setting {name!r}; " + (
            f"did you mean {near!r}?" if near else f"there are: {', '.join(Settings.model_fields)}"
        )
    if name == "threshold":
        percent = re.fullmatch(r"[1-9]\d(\.\d*)?|100", str(value))
        hint = f": did you mean {float(value) / 100:g}?" if percent else ""
        return f"setting threshold: a number from 0 to 1, or auto, not {value!r}{hint}"
    if name == "db" and value == "":
        return "setting db: empty; is a variable not set?"
    if name == "judge":
        return f"setting judge: auto, off, or openai:MODEL, not {value!r}"
    return f"setting {name}: {plain_words(message)}, not {value!r}"


def _from_file(path: Path) -> dict[str, Any]:
    from ufo_experience.store.safe_yaml import load_yaml  # yaml is slow to load

    try:
        data = load_yaml(path)
    except DataError as error:
        if error.code == "E_EMPTY":
            return {}
        line = f":{error.line}" if error.line else ""
        form = "lines of `name: value` are expected: " if path.is_file() else ""
        raise UsageError(f"settings file {path}{line}: {form}{error.reason}") from error
    given = {name: value for name, value in data.items() if value not in ("", "~", "null")}
    return _checked(given, f"settings file {path}")


def _checked(given: dict[str, Any], place: str) -> dict[str, Any]:
    try:
        Settings.model_validate(given)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error
    return given
