"""Which labels of controls are shown as they were recorded, and what never is without a person's approval."""

import re
from functools import lru_cache

from ufo_experience.actions import plain
from ufo_experience.controls import role_of
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.redact.typed import is_chord
from ufo_experience.request import holds, on_forgetting
from ufo_experience.schema import Control

MOST_WORDS = 8
MOST_CHARS = 60
_LEAST_WORDS = 3  # at the beginning of a label that say what it does
_FIXED = frozenset(  # kinds of controls that belong to the application, not to somebody's data
    "button splitbutton menubutton tab tabitem menu menuitem menubar checkbox radio radiobutton edit textbox textfield "
    "field searchbox combobox spinner slider switch toggle togglebutton toolbar group label legend heading title "
    "window dialog pane document tabcontrol expander spinbutton textarea input select searchfield".split()
)
_ADDRESS = re.compile(  # what leads somewhere: a mail box, a page, a share, a machine
    r"(?i)[\w.+-]{1,64}@[\w-]{1,63}\.\w|(?<!\w)@\w|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://|\bwww\.|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w)"
    r"|(?<![\w.])(?:[\w-]{1,40}\.){1,6}(?:com|net|org|io|shop|ru|cn|de|example|info|biz|xyz|app|dev|top|site|online|test|evil"
    r"|co|uk|me|ly|link)\b"
    r"|\b(?:javascript|data|vbscript|file|mailto|ms-[a-z-]{1,40}):\S"
)
_PATH = re.compile(
    r"(?i)\\\\\w|\b[a-z]:[\\/]|(?:^|\s)~?/[\w.-]+|\w/\w+/\w|\.\.[\\/]|%\w+%|\bHK(?:LM|CU|EY_\w+)\b|\w\\\w"
    r"|\.(?:exe|bat|cmd|ps1|vbs|hta|scr|msi|reg|lnk|dll|sh|jar|docm|xlsm)\b"
)
_COMMAND = re.compile(
    r"(?i)(?:^|[\s;&|(])(?:sudo|rm|curl|wget|chmod|chown|powershell|pwsh|cmd|bash|sh|nc|mshta|rundll32|regsvr32"
    r"|schtasks"
    r"|certutil|iex|eval|exec|net user|reg add|del|mkfs|dd|python\d?|perl|node)\b\s+\S*[-/.:=$'\"{(]|&&|\|\|"
    r"|[`<>{}]|\$\(|\w\([^\n)]{2,200}\)\s{0,8};?$|\w\(\)"
    r"|(?:^|\s)--?[a-z][\w-]*=?\w*(?:\s|$)|^=\s*\w+\(|\b(?:drop|truncate)\s+table\s+\w|\bdelete\s+from\b"
)
_AMOUNT = re.compile(
    r"(?i)[$€£¥₿]\s?\d|(?<![\d.,])\d{1,3}(?:[.,]\d{3})+(?![\d.,])|\d\s?(?:[$€£¥]|usd|eur|gbp|chf|dollars?|euros?|btc|eth|元|円)(?!\w)|\b0x[0-9a-f]{8,}"
)
_NUMBER = re.compile(r"\d(?:[ .-]?\d){4,}|\b(?=(?:[A-Za-z-]{0,20}\d){4})(?=[a-z0-9-]{0,20}[A-Z])[A-Za-z0-9-]{8,60}\b")
_PERSON = re.compile(
    r"(?i)\b(?:instructions?|assistant|system prompt|you must|you are|instead of|as an ai)\b"
    r"|\b(?:ignore|disregard)\b(?=.*\b(?:the|your|my|this|these|what|everything|all|any|previous|above)\b)"
)
_SAYS_MORE = re.compile(r"[:;]\s+\S+\s+\S|[：；。！]\S{4}")  # a colon, and more than a state: "Protection: Off"
_SENTENCE = re.compile(r"[.!?:;,]\s+\S|[。！？；：]\S")
_FILLED_IN = frozenset(("edit", "combobox"))
STRANGE = {"address": _ADDRESS, "amount": _AMOUNT, "path": _PATH, "command": _COMMAND, "number": _NUMBER}


@lru_cache(8_192)
def strange_in(text: str) -> str | None:
    """What a text holds that takes approval before an agent sees it; None for an ordinary one.

    It is an `address`, a `path`, a `command`, an `amount` or a long `number`; keys that are pressed are none.
    """
    bare = "" if is_chord(text, bare=False) else PLACEHOLDER.sub("", text)
    return next((kind for kind, pattern in STRANGE.items() if pattern.search(bare)), None)


@lru_cache(8_192)
def is_label(text: str, role: str = "") -> bool:
    """True for a text that may stand on a control: short, nothing strange in it, and no sentence that instructs.

    The name of a field (its `role`) may hold commas: "Add people, groups, and calendar events".

    >>> is_label("Enable Remote Desktop"), is_label("Send it to eve@evil.test")
    (True, False)
    """
    words = text.split()
    short = 0 < len(words) <= MOST_WORDS and len(text) <= MOST_CHARS and "\n" not in text.strip()
    if not short or "_" in text:  # a name with a "_" is what somebody or a machine calls something
        return False
    said = text.replace(",", "") if role in _FILLED_IN else text
    instructs = _PERSON.search(text) or _SAYS_MORE.search(text) or (len(words) > 4 and _SENTENCE.search(said))
    return not instructs and strange_in(text) is None


def told_of(text: str, role: str = "", task: str = "") -> str:
    """A text of a control as far as it may be told: whole, or its first words with "…"; "" where they say too little.
    A strange word that the `task` says is an ordinary one.

    >>> told_of("Assign this ticket to ada@site.test"), told_of("ada@site.test")
    ('Assign this ticket to…', '')
    """
    words = text.split()
    plain = ["it" if ("_" in word or strange_in(word)) and holds(task, word) else word for word in words]
    if is_label(" ".join(plain), role):
        return text
    sizes = range(min(len(words) - 1, MOST_WORDS), _LEAST_WORDS - 1, -1)
    told = (size for size in sizes if not _PERSON.search(text) and is_label(" ".join(plain[:size]), role))
    return next((f"{' '.join(words[:size])}…" for size in told), "")


def is_fixed(control: Control) -> bool:
    """True for a control that belongs to the application; one of unknown kind is taken for one."""
    return not control.type or plain(control.type) in _FIXED or role_of(control.type) in _FIXED


def readable(control: Control) -> bool:
    """True when the label of a control is shown as it was recorded.

    Items of rows, lists and trees, and links, belong to one task: `Procedure` binds them or leaves them open.
    """
    return is_fixed(control) and is_label(control.name, role_of(control.type))


on_forgetting(strange_in.cache_clear)
on_forgetting(is_label.cache_clear)
