"""Which code is mutated, and which tests must notice: rooms, and for each module its test files, the closest first."""

from __future__ import annotations

from fnmatch import fnmatch

_STORE = ("test_store.py", "test_store_codec.py", "test_store_crash.py", "test_store_exchange.py", "test_trust.py")
_EDGES = "test_store_edges.py"
_TRUST = ("test_trust.py", "test_retriever.py", "test_memory.py", "test_bad_input.py")
_PROMPT = ("test_prompt_edges.py", "test_prompt_builder.py", "test_bad_input.py", "test_secrets.py")

# Pattern below `ufo_experience/` → tests below `tests/`; the first pattern that fits counts.
# The PostgreSQL store needs a server, and is left to its own tests.
ROOMS: dict[str, dict[str, tuple[str, ...]]] = {
    "store": {
        "store/postgres/*.py": (),
        "store/folder/location.py": ("test_store_place.py",),
        "store/codec.py": ("test_store_codec.py", "test_store.py"),
        "store/exchange.py": (_EDGES, "test_store_exchange.py", "test_store.py", "test_bad_input.py"),
        "store/folder/signing.py": ("test_trust.py", "test_store.py"),
        "store/folder/lock.py": (
            _EDGES,
            "test_store_crash.py",
            "test_store.py",
            "test_bad_input.py",
            "test_windows.py",
        ),
        "store/__init__.py": ("test_store_engines.py", "test_store.py"),
        "fileio/*.py": (_EDGES, "test_store.py", "test_store_crash.py"),
        "store/*.py": (_EDGES, *_STORE, "test_store_machine.py", "test_windows.py", "test_purge.py"),
    },
    "redaction": {
        "redaction/*.py": ("test_redaction_edges.py", "test_redaction.py", "test_secrets.py", "test_ingest.py")
    },
    "trust": {
        "trust/risk.py": ("test_risk.py", "test_trust.py"),
        "retrieval/retriever.py": ("test_retriever.py", *_TRUST),
        "prompt/audit.py": ("test_trust.py", "test_windows.py"),
        "maintenance/*.py": ("test_purge.py", _EDGES, "test_memory.py"),
    },
    "prompt": {
        "prompt/builder.py": _PROMPT,
        "prompt/data_block.py": _PROMPT,
        "prompt/examples.py": _PROMPT,
        "text/templates.py": ("test_templates.py", *_PROMPT),
    },
}


def tests_of(module: str) -> tuple[str, ...]:
    """The test files for a module (`store/files.py`); empty for one that is not mutated."""
    for patterns in ROOMS.values():
        for pattern, tests in patterns.items():
            if fnmatch(module, pattern):
                return tuple(dict.fromkeys(tests))
    return ()


def modules_of(rooms: list[str], all_modules: list[str]) -> list[str]:
    """The modules of these rooms that have tests to run, sorted."""
    patterns = [pattern for room in rooms for pattern in ROOMS[room]]
    return sorted(
        module for module in all_modules if any(fnmatch(module, pattern) for pattern in patterns) and tests_of(module)
    )
