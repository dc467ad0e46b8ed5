"""What kind of thing a typed value is, and how a slot says it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.request import Request, find_whole

# "email", "email from task", "email from task slot 2", "email from request": in a new task of the same kind, the n-th
# value is the one to type. "text from task word 7": what is no value by itself, or a part of one, as a login or a first
# name. A summarizer may add what the value means: "email from task slot 2 (the recipient)".
SLOT_TYPE = re.compile(
    r"(?P<type>[\w ]+?)"
    r"(?: from (?P<where>task|request)(?: slot (?P<slot>\d+)| words? (?P<first>\d+)(?: to (?P<last>\d+))?)?)?"
    r"(?: \((?P<meaning>[^()]*)\))?"
)
FIXED = "= "  # begins the type of a slot whose value is known: two runs typed it, or a person says so
_TYPES = (
    ("email", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("url", re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)),
    ("date", re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})")),
    ("time", re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?", re.IGNORECASE)),
    ("number", re.compile(r"[-+]?[$€£]?\d[\d.,]*%?")),
    ("phone", re.compile(r"\+?\(?\d[\d() ./-]{5,18}\d")),
    ("formula", re.compile(r"=.+", re.DOTALL)),
    ("path", re.compile(r"(?:[A-Za-z]:[\\/]|\\\\|~?/|\.{1,2}[\\/])[^\n]*|[^\s\\/]+(?:[\\/][^\s\\/]+)+")),
    ("file", re.compile(r"[^\\/:*?\"<>|\n]{1,80}\.[A-Za-z][A-Za-z0-9]{1,4}")),
)


def slot_type(value: str) -> str:
    """Say what kind of thing a typed value is: email, url, date, time, number, phone, formula, path, file or text."""
    bare = value.strip()[:2048]
    return next((name for name, pattern in _TYPES if pattern.fullmatch(bare)), "text")


def describe(value: str, asked: Sequence[str]) -> str:
    """The type of a typed value, and where it stands of what was asked: the task, and the request it is part of."""
    kind = slot_type(value)
    values = [one.text for one in Request.parse(PLACEHOLDER.sub("<secret>", asked[0])).values]
    if value in values:
        return f"{kind} from task slot {values.index(value) + 1}"
    if (at := find_whole(value, asked[0])) >= 0:
        first, words = len(asked[0][: at + 1].split()), len(value.split())  # "(Hugo" is one word
        return f"{kind} from task " + (f"word {first}" if words == 1 else f"words {first} to {first + words - 1}")
    return f"{kind} from request" if find_whole(value, asked[-1]) >= 0 else kind
