"""What the documents say is true: commands run, outputs match, links lead somewhere, every command is described."""

from __future__ import annotations

import os
import pkgutil
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.cli_runner import Cli, commands
from tests.docs_blocks import Page, blocks_of, commands_of
from tests.openai_stub import OpenAIStub
from tests.postgres_server import running
from ufo_experience.cli.serve import SAMPLES

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def clone_of_the_project(folder: Path) -> Path:
    """What `git clone` gives (no empty folders); in an unpacked source distribution, which has no history, a copy."""
    if not (ROOT / ".git").exists():
        shutil.copytree(ROOT, folder / "clone", ignore=shutil.ignore_patterns(".venv", "__pycache__"))
        return folder / "clone"
    command = ["git", "clone", "-q", "--shared", str(ROOT), str(folder / "clone")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder / "clone"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as a newcomer has it."""
    return clone_of_the_project(tmp_path_factory.mktemp("cloned"))


# What a page says is the reader's: names its Python blocks use, made by code that is run before them, and what must
# hold of them when all blocks were run.
GIVEN = {
    "guide.md": """
from ufo_experience import Act, ExperienceMemory
from ufo_experience.executor import Target
memory, task = ExperienceMemory.open("guide_db", embedder="hashing"), "Turn on Bluetooth"
memory.remember(
    task, [{"action": "click", "control": "Bluetooth", "control_type": "Button"}], success=True, application="Settings"
)
controls = [{"id": "1", "name": "Bluetooth", "type": "Button"}]
act = Act("click", Target("Bluetooth", "Button", id="1"), {})
""",
    "steps.md": "import io, sys; sys.stdin = io.StringIO()",
}
HOLDS = {
    "README.md": "assert 'Table' in start.block and recorder.fault is None",
    "integrations.md": "assert recorder.fault is None and len(ExperienceMemory.open('my_memory')) > 1",
    "guide.md": "assert step.action == 'click' and callable(work)",
}
PAGES = [path for path in DOCUMENTS if blocks_of(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_block_of_a_document_runs_and_prints_what_it_shows(path, clone, tmp_path, monkeypatch):
    """In order, with the shipped store and the sample logs of a clone. UPDATE_DOCS=1 writes what was printed."""
    monkeypatch.setattr("sys.stdin", sys.stdin)
    page = Page(path, clone if path == README else folder_of_a_reader(clone, tmp_path))
    page.aside(GIVEN.get(path.name, ""))
    written = page.run()
    page.aside(HOLDS.get(path.name, ""))
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(written, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == written


def folder_of_a_reader(clone: Path, folder: Path) -> Path:
    """A folder with the store of the clone and with logs: its samples, and an experience file of UFO's."""
    shutil.copytree(clone / "experience_db", folder / "experience_db")
    shutil.copytree(clone / "ufo_experience" / "samples", folder / "logs")
    (folder / "vectordb" / "experience").mkdir(parents=True)
    shutil.copy(clone / "experience_db" / "experience.yaml", folder / "vectordb" / "experience")
    return folder


@pytest.mark.server
def test_the_move_into_a_database_works_as_written(clone, tmp_path):
    """The commands of `docs/scaling.md`, with the URL of a real server in place of its example."""
    block = next(one for one in blocks_of((ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")) if one.skipped)
    cli = Cli(folder_of_a_reader(clone, tmp_path))
    for server in running():
        url = server.database()
        for _, *words in commands_of(block.text.replace("postgresql://me@host/agents", url)):
            if words[0] == "install":  # by pip; it is installed
                continue
            cli(*words, UFO_EXPERIENCE_CACHE=str(tmp_path / "cache"))
        assert len(cli.json("list", "--db", url, UFO_EXPERIENCE_CACHE=str(tmp_path / "cache"))["experiences"]) == 12


def test_no_command_hides_outside_of_a_block():
    """An indented command is run by no test; `sh`, `console` and `python` blocks are."""
    for path in DOCUMENTS:
        lines = path.read_text(encoding="utf-8").splitlines()
        inside = "\n".join(block.text for block in blocks_of("\n".join(lines) + "\n"))
        hidden = [line for line in lines if re.match(r"(    |\$ )(ufo-experience|pip|python|pytest) ", line)]
        assert [line for line in hidden if line not in inside] == [], path


def test_the_python_of_the_readme_is_short():
    """An agent of one's own in at most twelve lines, imports and all."""
    code = next(one.text for one in blocks_of(README.read_text(encoding="utf-8")) if one.language == "python")
    assert len(code.splitlines()) <= 12


def test_every_command_stands_in_the_readme_and_has_help():
    """No command without a line that says what it is for."""
    names = commands().commands
    table = README.read_text(encoding="utf-8").split("| command | stage |")[1].split("\n\n")[0]
    assert [name for name in names if f"`{name}`" not in table] == []
    assert [name for name, command in names.items() if not command.help] == []


def test_links_to_files_lead_somewhere():
    """Relative links of every document exist."""
    for document in DOCUMENTS:
        links = re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text(encoding="utf-8"))
        assert [link for link in links if not (document.parent / link).exists()] == [], document


def test_every_page_stands_in_the_site_and_on_its_first_page():
    """A page nobody is led to is not read."""
    site, first = ((ROOT / name).read_text(encoding="utf-8") for name in ("mkdocs.yml", "docs/index.md"))
    pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"]
    assert sorted(name for name in pages if f": {name}" not in site or f"({name})" not in first) == []


def test_the_two_commands_of_the_readme_are_the_ones_ci_runs():
    """CI takes the test command from the README itself."""
    text = README.read_text(encoding="utf-8")
    assert "\npip install -e . && ufo-experience demo\n" in text
    assert '\npip install -e ".[test]" && pytest\n' in text


def test_the_stores_that_the_readme_makes_are_ignored_by_git():
    """Who follows it in a clone has nothing new to commit."""
    stores = set(re.findall(r"--db (\w+)", README.read_text(encoding="utf-8")))
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert stores
    assert [name for name in stores if not any(fnmatch(f"/{name}/", pattern) for pattern in ignored)] == []


def test_no_file_holds_the_marks_of_a_merge(clone: Path):
    """Left by a conflict that was not resolved."""
    marks = re.compile(rb"^(<{7}|>{7}) ", re.MULTILINE)
    files = [path for path in clone.rglob("*") if path.is_file() and ".git" not in path.relative_to(clone).parts]
    assert len(files) > 300
    assert [str(path) for path in files if marks.search(path.read_bytes())] == []


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
    rows = re.findall(r"^\| (.*?) \| (.*?) \|", text.partition("## `BaseSession`")[2], re.MULTILINE)
    classes = [re.findall(r"`([A-Z][a-z]\w+)", there if here.startswith("same") else here) for there, here in rows]
    named |= {f"session.{name}" for found in classes for name in found}
    assert len(named) > 25
    assert [name for name in sorted(named) if not is_name(f"ufo_experience.{name}")] == []


def test_the_messages_that_are_explained_are_those_of_the_program():
    """First column of the tables of `docs/troubleshooting.md`: what stands in backticks stands in the code."""
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    code = " ".join("".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))).split())
    said = [one for row in re.findall(r"^\| (.*?) \|", text, re.MULTILINE) for one in re.findall(r"`([^`]+)`", row)]
    pieces = {part.strip(" ,:()") for one in said for part in re.split(r"…|\b[NXY]\b|[()]|(?<=: )", one)} - {""}
    assert len(pieces) > 20
    assert sorted(piece for piece in pieces if piece not in code) == []


def is_name(name: str) -> bool:
    """True for a module, a name in one, or a member of a class in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


SERVICES = [
    block.text for block in blocks_of((ROOT / "docs/recipes.md").read_text("utf-8")) if "index --rebuild" in block.text
]


@pytest.mark.parametrize("recipe", SERVICES, ids=["Azure", "Ollama", "vLLM"])
def test_the_recipe_of_a_service_works_with_one_that_speaks_its_protocol(tmp_path, recipe):
    """As it stands but for the address; afterwards a question is answered by that service, and asks for no model that
    the recipe does not name.
    """
    cli = Cli(tmp_path)
    cli("ingest", SAMPLES / "settings_bluetooth", UFO_EXPERIENCE_EMBEDDER="hashing")
    with OpenAIStub(chat=lambda body: {"same": [1]}) as stub:
        env = {
            name: re.sub(r"https?://[^/]+", stub.origin, value).replace("…", "key")
            for command in commands_of(recipe)
            if command[0] == "export"
            for name, _, value in (word.partition("=") for word in command[1:])
        }
        for command in commands_of(recipe):
            if command[0] == "ufo-experience":
                cli(*command[1:], **env)
        found = cli.json("retrieve", "Turn on Bluetooth in the settings", **env)
        asked = {str(request.body["model"]) for request in stub.requests}
    assert (len(found["hits"]), found["degraded"]) == (1, None)
    assert found["embedder"].partition(":")[0] in ("azure", "openai")
    assert all(model in recipe for model in asked)
