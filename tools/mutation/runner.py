"""Runs tests against one mutant after the other, in a copy of the tree, each in a process of its own."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from tools.mutation.mutants import Mutant, mutated

PACKAGE = "ufo_experience"
Reached = dict[tuple[str, int], tuple[str, ...]]  # module and line → tests
KILLED, SURVIVED, TIMEOUT = "killed", "survived", "timeout"
_HEAVY = ["pytest", "hypothesis", "hypothesis.stateful", "numpy", "faiss", "pydantic", "yaml", "openai", "typer"]
_MANY = 150  # tests at one line: then all files are run at once
_PREIMPORTED = ("-W", "ignore:Module already imported so cannot be rewritten")
_NEEDED = (PACKAGE, "tests", "tools", "prompts", "experience_db", "docs", "benchmarks", "pyproject.toml", "README.md")


class Runner:
    """A copy of a checkout that is changed and put right again; `close` removes it."""

    def __init__(self, root: Path, place: Path) -> None:
        self._copy = place / "tree"
        self._copy.mkdir(parents=True)
        ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
        for name in _NEEDED:
            source = root / name
            if source.is_dir():
                shutil.copytree(source, self._copy / name, ignore=ignored)
            elif source.exists():
                shutil.copy2(source, self._copy / name)
        self._context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
        for name in _HEAVY if os.name == "posix" else ():
            importlib.import_module(name)  # once for all: the processes that run the tests are copies of this one
        self._limits: dict[tuple[str, ...], float] = {}
        self._reached: dict[tuple[str, ...], Reached] = {}

    @property
    def package(self) -> Path:
        """The copied package, unchanged between runs."""
        return self._copy / PACKAGE

    def baseline(self, tests: tuple[str, ...]) -> float:
        """Run tests on the unchanged code, and note which line each of them reaches.

        Returns the seconds they take; they decide when a mutant hangs.

        Raises:
            RuntimeError: they do not pass.
        """
        began = time.monotonic()
        outcome = self._run(tests, 1200.0, "--cov=ufo_experience", "--cov-context=test", "--cov-report=")
        if outcome != SURVIVED:
            said = Path(f"{self._copy}.txt").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"these tests do not pass on the unchanged code: {' '.join(tests)}\n{said}")
        took = time.monotonic() - began
        self._limits[tests] = 3 * took + 20
        self._reached[tests] = _read_coverage(self._copy)
        return took

    def verdict(self, mutant: Mutant, tests: tuple[str, ...], *, thorough: bool = False) -> str:
        """Whether the tests notice: killed, survived, or timeout (it never ends: noticed too).

        Only tests that reach the changed line are run, where that is known and they are not too many; with `thorough`
        all of them before a mutant is said to survive.
        """
        path = self.package / mutant.module
        original, times = path.read_bytes(), path.stat()
        try:
            path.write_text(mutated(self.package, mutant), encoding="utf-8", newline="\n")
            os.utime(path, (times.st_mtime + 7, times.st_mtime + 7))  # else its old bytecode might be used
            near = self._reached[tests].get((mutant.module, mutant.line), ())
            some = 0 < len(near) <= _MANY
            verdict = self._run(near if some else tests, self._limits[tests])
            return self._run(tests, self._limits[tests]) if some and thorough and verdict == SURVIVED else verdict
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self._copy, ignore_errors=True)

    def _run(self, tests: tuple[str, ...], limit: float, *options: str) -> str:
        process = self._context.Process(target=_pytest, args=(str(self._copy), tests, options), daemon=False)
        process.start()
        process.join(limit)
        if process.is_alive():
            _stop(process)
            return TIMEOUT
        return SURVIVED if process.exitcode == 0 else KILLED


def _stop(process: BaseProcess) -> None:
    """End a process and what it started."""
    if os.name == "posix" and process.pid:
        os.killpg(process.pid, 9)
    process.kill()
    process.join()


def _read_coverage(copy: Path) -> Reached:
    """Which tests reached which line."""
    from coverage import CoverageData

    data = CoverageData(str(copy / ".coverage"))
    data.read()
    return {
        (Path(file).relative_to(copy / PACKAGE).as_posix(), line): tuple(
            sorted({context.rsplit("|", 1)[0].removeprefix("tests/") for context in contexts if context})
        )
        for file in data.measured_files()
        for line, contexts in data.contexts_by_lineno(file).items()
    }


def _pytest(copy: str, tests: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Run tests in the copy until one fails, their output into a file; end with pytest's exit code."""
    if os.name == "posix":
        os.setpgid(0, 0)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = copy
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path[:0] = [copy]
    sys.modules.pop("tests", None)  # that of the copy is meant
    output = os.open(f"{copy}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    import pytest

    paths = [str(Path(copy, "tests", name)) for name in tests]
    sys.exit(int(pytest.main(["-x", "-q", "-n", "0", "--no-header", "--tb=line", *_PREIMPORTED, *options, *paths])))
