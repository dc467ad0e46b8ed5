"""docs/settings.md and docs/ufo_experience.yaml are made of `Settings`. UPDATE_DOCS=1 writes both anew."""

from __future__ import annotations

import ast
import itertools
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli_runner import commands as all_commands
from tests.docs_blocks import options_of
from ufo_experience import ExperienceMemory, Settings, load_settings

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FILE = DOCS / "settings.md", DOCS / "ufo_experience.yaml"
config = sys.modules[Settings.__module__]
OTHER_VARIABLES, PREFIX = config.OTHER_VARIABLES, "UFO_EXPERIENCE_"
PACKAGE = Path(config.__file__).parent
HEAD = "| setting | default | what | variable | option |\n|---|---|---|---|---|\n"
OPTIONS = {
    "db": ("--db", ()),
    "embedder": ("--embedder", ("index",)),
    "summarizer": ("--summarizer", ("ingest",)),
    "top_k": ("-k", ("retrieve", "prompt")),
    "threshold": ("--threshold", ("retrieve", "prompt")),
    "max_tokens": ("--max-tokens", ("prompt",)),
    "allow_http_service": ("--allow-http-service", ()),
}
SYSTEM = {"LOCALAPPDATA", "XDG_CACHE_HOME", "NO_COLOR"}


def described() -> dict[str, str]:
    """What the text below each field of `Settings` says, on one line."""
    tree = ast.parse(Path(config.__file__).read_text(encoding="utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings").body
    found = {}
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[field.target.id] = " ".join(below.value.value.split())
    return found


def default_of(name: str) -> str:
    """A default as YAML says it."""
    value = Settings.model_fields[name].default
    plain = getattr(value, "value", value)
    return "unset" if value is None else str(plain).lower() if isinstance(plain, bool) else f"{plain}"


def option_of(name: str) -> str:
    """The option that sets it, and which commands have it."""
    if name not in OPTIONS:
        return "–"
    flag, commands = OPTIONS[name]
    return f"`{flag}`" + (f" of {', '.join(f'`{one}`' for one in commands)}" if commands else "")


def rows() -> str:
    """The table."""
    lines = [
        f"| `{name}` | `{default_of(name)}` | {text} | `{PREFIX}{name.upper()}` | {option_of(name)} |"
        for name, text in described().items()
    ]
    return HEAD + "\n".join(lines)


def commented() -> str:
    """The settings file, each line with what it says; all are commented out, so that the file changes nothing."""
    lines = ["# Settings of ufo_experience. Every line is the default: take the # away from those you change.", ""]
    for name, text in described().items():
        value = default_of(name)
        lines += [f"# {text}", f"# {name}: {'null' if value == 'unset' else value}", ""]
    return "\n".join(lines)


def test_every_setting_stands_in_the_table_and_in_the_file():
    """A setting without its line, and a line that says something else, fail."""
    assert list(described()) == list(Settings.model_fields)
    page = PAGE.read_text(encoding="utf-8")
    written = re.sub(r"TABLE$|^\| setting \|.*?(?=\n\n)", lambda _: rows(), page, flags=re.DOTALL | re.MULTILINE)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(written, encoding="utf-8", newline="\n")
        FILE.write_text(commented(), encoding="utf-8", newline="\n")
    assert PAGE.read_text(encoding="utf-8") == written
    assert FILE.read_text(encoding="utf-8") == commented()


def test_the_settings_file_as_shipped_changes_nothing_and_is_valid_without_its_marks(tmp_path):
    """Both ways of using it: as it is, and with every line taken into use."""
    assert load_settings(file=FILE, environment={}) == Settings()
    used = tmp_path / "ufo_experience.yaml"
    used.write_text(re.sub(r"^# (\w+: .*)$", r"\1", FILE.read_text(encoding="utf-8"), flags=re.M), encoding="utf-8")
    assert yaml.safe_load(used.read_text(encoding="utf-8")).keys() == Settings.model_fields.keys()
    assert load_settings(file=used, environment={}) == Settings()


@pytest.mark.parametrize("name", OPTIONS)
def test_the_options_of_the_table_exist(name):
    """An option that was renamed is renamed here."""
    flag, commands = OPTIONS[name]
    anywhere = flag in all_commands().epilog and not commands
    assert anywhere or [one for one in commands if flag in options_of(one)] == [*commands]


def test_every_variable_the_package_reads_is_on_the_page():
    """Names in capitals that the code takes from the environment."""
    page = PAGE.read_text(encoding="utf-8")
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    read = set(re.findall(r"""["']((?:OPENAI|AZURE_OPENAI|UFO_EXPERIENCE|MINIWOB)_[A-Z_]*[A-Z])["']""", text))
    assert len(read) > 5
    assert sorted(name for name in read | OTHER_VARIABLES | SYSTEM if f"`{name}`" not in page) == []


OTHERS = {
    "db": "elsewhere",
    "embedder": "hashing:64",
    "summarizer": "auto",
    "top_k": 7,
    "threshold": 0.5,
    "judge": "off",
    "max_tokens": 99,
    "min_trust": "approved",
    "allow_http_service": True,
    "max_cost": 0.5,
    "keep_observations": "none",
    "audit": False,
}


@pytest.mark.parametrize("way", ["file", "variable"])
def test_every_setting_reaches_the_memory(tmp_path, monkeypatch, way):
    """From the file of the folder one stands in, and from its variable; none is passed over."""
    assert OTHERS.keys() == Settings.model_fields.keys()
    monkeypatch.chdir(tmp_path)
    for name, value in OTHERS.items():
        if way == "variable":
            monkeypatch.setenv(f"{PREFIX}{name.upper()}", str(value))
        else:
            Path("ufo_experience.yaml").write_text(yaml.safe_dump({name: value}), encoding="utf-8")
        with ExperienceMemory.open() as memory:
            assert getattr(memory.settings, name) == value
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


def test_commands_that_the_package_advises_have_the_options_it_names():
    """A cure that does not exist helps nobody."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    advised = re.findall(r"""ufo-experience ([a-z]+)((?:[^\n"`]|"\n *f?")*)""", text)
    named = [(command, option) for command, rest in advised for option in re.findall(r"(?<!\w)--[a-z][a-z-]+", rest)]
    assert len(named) >= 10
    assert [one for one in named if one[1] not in {"--db", "--json", *options_of(one[0])}] == []


def test_settings_are_few():
    """What has one right value is no setting."""
    assert len(Settings.model_fields) <= 15
