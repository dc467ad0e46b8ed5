"""Which labels are shown as they were recorded (the rule of `trust`, until that room has it)."""

from __future__ import annotations

import re

MOST_WORDS, LONGEST = 8, 60
_SHAPES = re.compile(r"[@\\{}<>|$€£¥`^~]|://|\bwww\.|\w/\w+/|\d{5}|\w\.(?:com|net|org|io|exe|sh|ps1)\b|--\w")
_INSTRUCTS = re.compile(r"(?i)\b(?:ignore|disregard|you (?:must|should)|system prompt|assistant)\b")


def readable(name: str) -> bool:
    """True for a short label that holds no address, path, command or long number, and gives no order."""
    few = len(name) <= LONGEST and len(name.split()) <= MOST_WORDS
    return few and name.isprintable() and not _SHAPES.search(name) and not _INSTRUCTS.search(name)
