"""What Windows does differently, tried on any system: renames, open files, links, paths, line ends, consoles."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.disks import WindowsDisk, leftovers
from tests.syntax import PACKAGE, nodes
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.errors import StorageError
from ufo_experience.fileio.disk import Disk
from ufo_experience.index.build import load_snapshot, sync
from ufo_experience.index.generations import Generations
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Trust
from ufo_experience.session.files import write_atomic
from ufo_experience.settings import load_settings
from ufo_experience.store.exchange import write_view
from ufo_experience.store.folder.store import FileStore
from ufo_experience.traces import read_traces

EMBEDDER = HashingEmbedder(32)
POSIX_MODULES = {"fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "posix"}
# Calls that Windows does not have, or that mean something else there. `disk.py` is where a guarded one may stand.
POSIX_CALLS = {"fork", "getuid", "geteuid", "getpgid", "setsid", "killpg", "mkfifo", "link", "symlink", "chown", "sync"}
GUARDED = {
    ("fileio/disk.py", "link"),
    ("fileio/reading.py", "geteuid"),
    ("store/folder/layout.py", "geteuid"),
    ("../benchmarks/steps/child_processes.py", "killpg"),
    ("../benchmarks/steps/child_processes.py", "SIGKILL"),
}
NAME = "ärger 漢字 & Söhne"


_MAY_BE_POSIX = re.compile(rf"\b(?:os|signal)\.|\b(?:{'|'.join(POSIX_MODULES)})\b")
_READS_TEXT = re.compile(r"\bopen\(|\b(?:read|write)_text\(")


def posix_only(path: Path) -> list[str]:
    """Imports and `os.` calls in a module that Windows does not have."""
    found = []
    name = path.relative_to(PACKAGE).as_posix()
    if not _MAY_BE_POSIX.search(path.read_text(encoding="utf-8")):
        return []
    for node in nodes(path):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [f"{name}: import {one}" for one in modules if one.partition(".")[0] in POSIX_MODULES]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "signal"):
            posix = node.attr in POSIX_CALLS or node.attr in {"SIGKILL", "SIGALRM", "alarm", "O_DIRECTORY"}
            if posix and (name, node.attr) not in GUARDED:
                found.append(f"{name}:{node.lineno}: {node.value.id}.{node.attr}")
    return found


def test_the_product_path_has_no_posix_only_calls():
    """No `fork`, no `fcntl`, no link without a way around it; text files name their encoding."""
    modules = sorted(PACKAGE.rglob("*.py"))
    assert [problem for path in modules for problem in posix_only(path)] == []


def test_the_scan_finds_what_it_looks_for(tmp_path, monkeypatch):
    """It is no scan that finds nothing."""
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    module = tmp_path / "m.py"
    module.write_text("import fcntl\nimport os, signal\nos.fork()\nos.kill(1, signal.SIGKILL)\n", encoding="utf-8")
    assert len(posix_only(module)) == 3


def bare_text(path: Path) -> list[str]:
    """Calls in a module that read or write text without naming the encoding."""
    found = []
    if not _READS_TEXT.search(path.read_text(encoding="utf-8")):
        return []
    for node in nodes(path):
        if not isinstance(node, ast.Call) or any(keyword.arg == "encoding" for keyword in node.keywords):
            continue
        if isinstance(node.func, ast.Attribute):
            bare = len(node.args) < {"read_text": 1, "write_text": 2}.get(node.func.attr, 0)
        else:
            modes = [one.value for one in node.args if isinstance(one, ast.Constant)]
            bare = getattr(node.func, "id", "") == "open" and not any("b" in str(mode) for mode in modes)
        found += [f"{path.name}:{node.lineno}"] if bare else []
    return found


def test_text_is_never_read_or_written_in_the_system_s_encoding(tmp_path):
    """Windows would take cp1252: every `open`, `read_text` and `write_text` names its encoding or is binary."""
    assert [place for path in sorted(PACKAGE.rglob("*.py")) for place in bare_text(path)] == []
    module = tmp_path / "m.py"
    module.write_text("open('x')\np.read_text()\np.write_text(t)\nopen('x', 'rb')\np.read_text('ascii')", "utf-8")
    assert bare_text(module) == ["m.py:1", "m.py:2", "m.py:3"]


class Busy(WindowsDisk):
    """As Windows: an open file can neither be replaced nor deleted, and a folder in use not be renamed, for a while."""

    def __init__(self, busy: int = 0, held: str = "") -> None:
        super().__init__(busy)
        self.held = held

    def rename(self, source: Path, target: Path) -> None:
        if self.busy and source.is_dir():
            self.busy -= 1
            raise PermissionError(13, "a scanner looks into it", str(source))
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        if self.held and self.held in path.parts:
            raise PermissionError(13, "mapped by a reader", str(path))
        super().unlink(path)


def publish(folder: Path, disk: Disk, number: int) -> Generations:
    """Add a record and publish the index, all through one disk."""
    store, generations = FileStore.open(folder, disk=disk), Generations(folder / "index", disk)
    store.add([a_record(number)])
    sync(store, generations, EMBEDDER, rebuild=True)
    return generations


@pytest.mark.parametrize("busy", [0, 1, 5])
def test_a_generation_is_published_under_windows_rules(busy, tmp_path):
    """Renames that refuse a taken name, no links, a scanner that holds new files for a moment."""
    disk = Busy(busy)
    for number in range(3):
        generations = publish(tmp_path / "db", disk, number)
    snapshot = load_snapshot(FileStore.open(tmp_path / "db"), generations)
    assert snapshot is not None
    assert len(snapshot.catalog) == 3
    assert disk.slept == pytest.approx(busy * 0.1)
    assert list(leftovers(tmp_path)) == []


def test_a_scanner_that_never_lets_go_is_a_storage_error(tmp_path):
    """Given up within a second; the generation before stays in use."""
    generations = publish(tmp_path / "db", Busy(), 1)
    disk = Busy(99)
    with pytest.raises(StorageError):
        publish(tmp_path / "db", disk, 2)
    assert disk.slept <= 1.0
    assert generations.number() == 1
    publish(tmp_path / "db", Busy(), 3)
    assert generations.number() == 2


def test_a_generation_that_a_reader_holds_open_is_dropped_later(tmp_path):
    """It cannot be deleted now; publishing goes on, and a later publish deletes it."""
    disk = Busy(held="1")
    for number in range(4):
        generations = publish(tmp_path / "db", disk, number)
    assert (generations.folder / "1").exists()
    disk.held = ""
    publish(tmp_path / "db", disk, 5)
    assert not (generations.folder / "1").exists()


def test_a_pointer_that_is_being_replaced_is_read_a_moment_later(tmp_path):
    """Windows refuses to open it for an instant: no damage, no rebuild."""
    publish(tmp_path / "db", Busy(), 1)

    class Replaced(WindowsDisk):
        refusals = 3

        def open(self, path: Path) -> int:
            if path.name == "CURRENT" and self.refusals:
                self.refusals -= 1
                raise PermissionError(13, "in use", str(path))
            return super().open(path)

    assert Generations(tmp_path / "db" / "index", Replaced()).number() == 1


def test_folders_are_not_synced_where_that_cannot_be_done(tmp_path):
    """Windows cannot open a folder; the call does nothing there."""
    disk = Disk()
    disk.windows = True
    disk.fsync_dir(tmp_path / "nowhere")


@pytest.mark.parametrize("depth", [1, 12])
def test_the_whole_loop_works_in_a_long_non_ascii_folder(depth, tmp_path):
    """Store, index, view and session files below a path of characters Windows people have, over 260 long."""
    folder = tmp_path.joinpath(*[NAME] * depth, "db")
    assert depth == 1 or len(str(folder)) > 260
    memory = ExperienceMemory.open(folder, embedder="hashing:64")
    memory.store.add([a_record(1, trust=Trust.VERIFIED)])
    memory.index()
    assert len(memory.retrieve("Email Zoë № 1", similarity_threshold=0.1)) == 1
    write_view(memory.store, folder / "experience.yaml")
    write_atomic(folder / NAME / "board.json", "{}")


def test_settings_and_logs_with_windows_line_ends_are_read(tmp_path):
    """CRLF (and a byte order mark in a log) change nothing."""
    settings = tmp_path / "ufo_experience.yaml"
    settings.write_bytes(b"top_k: 7\r\nembedder: hashing\r\n")
    assert load_settings(file=settings, environment={}).top_k == 7
    step = {"step": 1, "thought": "", "action_type": "click", "timestamp": "2025-11-12T10:04:28Z"}
    text = json.dumps({"task": "Mute", "execution_trace": [step]}, indent=1).replace("\n", "\r\n")
    log = tmp_path / "log.json"
    log.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [run.request for run in read_traces(log)] == ["Mute"]


def test_a_console_that_lacks_characters_shows_their_escapes(tmp_path):
    """`list` on an old console: exit code 0, no traceback."""
    store = FileStore.open(tmp_path / "db")
    store.add([a_record(1, state={"task": "漢字 → ok", "request": "漢字 → “ok” ✓"})])
    command = [sys.executable, "-m", "ufo_experience", "list", "--db", str(tmp_path / "db")]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run([*command], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u6f22" in done.stdout
