"""Reads the code blocks of the documents and runs them: commands in this process, Python as it stands.

A block is run unless its first line is a comment `# needs …`, which the reader sees; its commands are then only parsed,
so that an option that is gone is noticed. A `text` block right below a Python block is what it prints.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.cli_runner import Cli, commands

ROOT = Path(__file__).resolve().parents[1]
REASON = re.compile(r"# needs (a key|a server|a browser|a framework|a client|a download|some minutes|a checkout)\b")
LANGUAGES = ("sh", "powershell", "console", "python", "text", "json", "yaml", "toml", "diff", "mermaid")
NONCE = re.compile(r"\b[0-9a-f]{32}\b(?=[-\s>\]])")
_FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROMPTED = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document: its language, its text, and where it begins and ends."""

    language: str
    text: str
    start: int
    end: int

    @property
    def skipped(self) -> bool:
        """True for a block that says what it needs and we do not have."""
        return REASON.match(self.text) is not None


def blocks_of(text: str) -> list[Block]:
    """The blocks of a document, in order."""
    return [Block(match[1], match[2], *match.span()) for match in _FENCE.finditer(text)]


def commands_of(text: str) -> Iterator[list[str]]:
    """The commands of a shell block as their words: comments go, `&&` separates, a backslash joins lines."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(as_in_sh(line), comments=True)
        while "&&" in words:
            place = words.index("&&")
            yield words[:place]
            words = words[place + 1 :]
        if words:
            yield words


def as_in_sh(line: str) -> str:
    """A line of PowerShell as a line of the shell: how it separates commands and sets variables."""
    return re.sub(r"\$env:(\w+) = ", r"export \1=", line).replace("; ", " && ")


def same_every_time(output: str) -> str:
    """Output with what differs from run to run (nonces, ages) put out of sight."""
    return re.sub(r"\d+ days? ago|today", "AGE", NONCE.sub("NONCE", output)).strip()


class Page:
    """The blocks of one document, run in order in one folder; Python blocks share their names."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.cli, self.environment = path, Cli(folder), dict[str, str]()
        self.names: dict[str, object] = {"__name__": "__main__"}

    def aside(self, code: str) -> None:
        """Run code that the document does not show, with its names."""
        self._python(code)

    def run(self) -> str:
        """Run all blocks. Returns the text of the document with what was printed in the place of what it shows."""
        text = self.path.read_text(encoding="utf-8")
        written, printed = text, ""
        for block in blocks_of(text):
            assert block.language in LANGUAGES, f"{self.path.name}: a block of no language: {block.text[:60]}"
            shown = block.text
            if block.language == "text":
                shown = f"{printed}\n" if printed else block.text
            elif block.language == "console":
                shown = _PROMPTED.sub(lambda match: f"$ {match[1]}\n{self._session(match[1])}\n", block.text)
            printed = self._run(block)
            if shown != block.text:
                written = written.replace(f"```{block.language}\n{block.text}```", f"```{block.language}\n{shown}```")
        return written

    def _run(self, block: Block) -> str:
        if block.language == "python" and not block.skipped:
            return self._python(block.text)
        if block.language == "python":
            compile(block.text, self.path.name, "exec", flags=0x2000)  # await outside a function is allowed
        if block.language in ("sh", "powershell"):
            for words in commands_of(block.text):
                check_command(words, run=not block.skipped)
                if not block.skipped:
                    self._command(words)
        if block.language == "json":
            json.loads(block.text)
        if block.language == "yaml":
            yaml.safe_load(block.text)
        return ""

    def _session(self, line: str) -> str:
        words = shlex.split(line)
        assert words[0] == "ufo-experience", line
        return same_every_time(self.cli(*words[1:], COLUMNS="120", **self.environment).stdout)

    def _command(self, words: list[str]) -> None:
        program, *arguments = words
        if program == "export":
            name, _, value = arguments[0].partition("=")
            self.environment[name] = value
        elif program == "ufo-experience":
            self.cli(*arguments, **self.environment)
        else:
            assert program in ("pip", "pytest"), f"{self.path.name}: say what it needs: {' '.join(words)}"

    def _python(self, text: str) -> str:
        before, out = Path.cwd(), io.StringIO()
        os.chdir(self.cli.folder)
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(text, self.path.name, "exec"), self.names)
        finally:
            os.chdir(before)
        return same_every_time(out.getvalue())


def check_command(words: list[str], *, run: bool) -> None:
    """What can be known of a command without running it: its options exist, its files exist, its extras exist."""
    program, *arguments = words
    while "=" in program and arguments:  # a variable for this command
        program, *arguments = arguments
    if program == "ufo-experience":
        check_arguments(arguments)
    elif program == "pip":
        extras = re.findall(r"\[([\w,-]+)\]", " ".join(arguments))
        known = set(re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE))
        assert set(",".join(extras).split(",")) - {""} <= known, words
    elif program == "pytest":
        named = [one for one in arguments if one.startswith("tests/")]
        assert [one for one in named if not list(ROOT.glob(one.split("::")[0]))] == [], words
    elif program == "python":
        check_script(arguments)
    else:
        assert not run or program == "export", f"say what it needs: {' '.join(words)}"


def check_script(arguments: list[str]) -> None:
    """A script or module of this project exists, and its text names the options it is called with."""
    place = arguments[1].replace(".", "/") if arguments[0] == "-m" else arguments[0]
    found = [one for one in (ROOT / place, ROOT / f"{place}.py", ROOT / place / "__main__.py") if one.is_file()]
    if place in ("venv", "ufo_experience"):
        return
    assert found, arguments
    options = {one.split("=")[0] for one in arguments if one.startswith("--")}
    texts = "".join(one.read_text(encoding="utf-8") for one in [*found, *found[0].parent.glob("*.py")])
    assert {one for one in options if f'"{one}"' not in texts} == set(), arguments


def check_arguments(arguments: list[str]) -> None:
    """Parse a command line of ours without running it."""
    command, context = commands(), None
    while True:
        context = command.make_context(command.name, list(arguments), parent=context)
        known = vars(context)
        rest = [*(known.get("_protected_args") or known.get("protected_args") or ()), *context.args]
        if not hasattr(command, "commands") or not rest:
            return
        command, arguments = command.commands[rest[0]], rest[1:]


def options_of(command: str) -> set[str]:
    """The options of a command, by all their names; "" is the program itself."""
    found = commands()
    for name in command.split():
        found = found.commands[name]
    return {name for one in found.params for name in one.opts}
