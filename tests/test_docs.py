"""What the documents say is true: commands run, outputs match, links lead somewhere, every command is described."""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_runner import ENV, Cli

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NONCE = re.compile(r"\b[0-9a-f]{32}\b(?=[-\s>\]])")


def run(command: str, folder: Path) -> str:
    """What a command of the README prints (its first word is our program)."""
    program, *arguments = shlex.split(command)
    assert program == "ufo-experience"
    return Cli(folder)(*arguments, COLUMNS="120").stdout


def same_every_time(output: str) -> str:
    """Output with what differs from run to run (nonces, ages) put out of sight."""
    return re.sub(r"\d+ days? ago|today", "AGE", NONCE.sub("NONCE", output)).strip()


def clone_of_the_project(folder: Path) -> Path:
    """What `git clone` gives (no empty folders); in an unpacked source distribution, which has no history, a copy."""
    if not (ROOT / ".git").exists():
        shutil.copytree(ROOT, folder / "clone", ignore=shutil.ignore_patterns(".venv", "__pycache__"))
        return folder / "clone"
    command = ["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), str(folder / "clone")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder / "clone"


def test_the_sessions_of_the_readme_print_what_it_shows(tmp_path):
    """Every `console` block is run in order in a clone, as a newcomer has it. UPDATE_DOCS=1 writes what was printed."""
    clone = clone_of_the_project(tmp_path)

    def rerun(match: re.Match[str]) -> str:
        commands = [line for line in match.group(1).splitlines() if line.startswith("$ ")]
        parts = [f"{command}\n{same_every_time(run(command[2:], clone))}" for command in commands]
        return "```console\n" + "\n".join(parts) + "\n```"

    text = README.read_text(encoding="utf-8")
    rerun_text = re.sub(r"```console\n(.*?)```", rerun, text, flags=re.DOTALL)
    if os.environ.get("UPDATE_DOCS"):
        README.write_text(rerun_text, encoding="utf-8", newline="\n")
    assert README.read_text(encoding="utf-8") == rerun_text


def test_the_python_of_the_readme_runs(tmp_path):
    """The example is executed as it stands; the second task is shown the way of the first."""
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    assert len(code.splitlines()) <= 12, "ten lines, and an import or two"
    check = "\nassert 'Table' in start.block, start\nassert recorder.fault is None\n"
    done = subprocess.run(
        [sys.executable, "-c", code + check], cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_every_command_stands_in_the_readme_and_has_help():
    """No command without a line that says what it is for."""
    import typer.main

    from ufo_experience.cli import app

    names = typer.main.get_command(app).commands
    table = README.read_text(encoding="utf-8").split("| command | stage |")[1].split("\n\n")[0]
    assert [name for name in names if f"`{name}`" not in table] == []
    assert [name for name, command in names.items() if not command.help] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(document):
    """Relative links of every document exist."""
    links = re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_two_commands_of_the_readme_are_the_ones_ci_runs():
    """CI takes the test command from the README itself."""
    text = README.read_text(encoding="utf-8")
    assert "\npip install -e . && ufo-experience demo\n" in text
    assert '\npip install -e ".[test]" && pytest\n' in text


def test_the_changelog_has_the_current_version():
    """A release without its entry is not one."""
    from ufo_experience import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


PACKAGE = ROOT / "ufo_experience"


def test_every_path_of_the_architecture_exists():
    """Paths stand in backticks, below the package or below the root."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w./]+)`", text) if "/" in name or name.endswith((".py", ".md", ".toml"))}
    examples = {"traces/acme.py", "index/engines/acme.py", "ufo_experience/"}
    assert len(named) > 50
    assert [
        name for name in sorted(named - examples) if not ((PACKAGE / name).exists() or (ROOT / name).exists())
    ] == []


def test_every_room_is_in_the_architecture():
    """A newcomer finds a sentence about each folder and each module at the top."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [f"{path.name}/" for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("_")]
    rooms += [path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("_")]
    assert [room for room in sorted(rooms) if f"`{room}" not in text and f"`{room}`" not in text] == []


def test_every_name_of_the_map_can_be_imported():
    """`docs/names.md` says where the names of the source documents live."""
    rooms = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("_"))
    text = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
    named = set(re.findall(rf"`(?:ufo_experience\.)?((?:{rooms})\.[\w.]+)", text))
    assert len(named) > 10
    assert [name for name in sorted(named) if not is_name(f"ufo_experience.{name}")] == []


def is_name(name: str) -> bool:
    """True for a module, a name in one, or a member of a class in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
