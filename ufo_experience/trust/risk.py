"""Which step a person is asked before: the one that sends, pays, deletes, publishes, grants, installs or overwrites.

A step is judged by what its button does: its verb and its kind. That a name is hidden says nothing. What only opens
a dialog ("Delete…") or leads on (a tab, a row, an item of a tree) is not asked before; the button in the dialog is.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path

from ufo_experience.actions import is_press, is_typing, kind_of
from ufo_experience.controls import ITEMS, role_of
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.request import on_forgetting
from ufo_experience.schema import Experience, Step
from ufo_experience.trust.labels import strange_in

_LEADS = frozenset(  # kinds that hold, show or lead on; any other acts, whatever a system calls it
    "tabitem listitem treeitem dataitem edit text combobox slider spinner header headeritem cell gridcell image group "
    "pane window list tree table heading label statictext menu menubar toolbar".split()
)
_SELECTED = ITEMS | frozenset("datagrid grid table list tree".split())
_TURNED = frozenset("checkbox radiobutton menuitem".split())
_LEAD_IN = re.compile(
    r"(?i)^(?:yes|ja|ok|confirm|finish|complete|continue|now|jetzt|kostenpflichtig|zahlungspflichtig|click to|force"
    r"|permanently)(?=\W)"
)
_DEEDS = re.compile(r"(?i)\b\W{1,3}(?:and|und|et|y|e|then)\W{1,3}\b|[,&+;:(–—]|\s-\s")  # one label, several deeds
_OPENS = re.compile(r"(?i).*\b(?:to|with|as|from|by|for|at|in)")  # "Send to": a menu of those to whom
_SURE = re.compile(r"(?i)(?:yes|ja)\W+\w.*|(?:confirm|confirmer|confirmar|conferma|bestätigen|确认)(?: .*)?")
CARRIES_OUT = re.compile(  # what the dialog around it asks, or what was chosen before
    r"(?i)yes|ok|okay|save(?: changes)?|apply|done|ja|continue|proceed|weiter|speichern|übernehmen|fertig"
    r"|是|确定|保存|应用"
)
_DELETES = re.compile(r"(?i)\W{0,3}(?:shift\W{1,3})?del(?:ete)?\W{0,3}")  # a key, pressed where something is selected
_TERMINAL = re.compile(r"(?i)terminal|console|shell|command ?(?:line|prompt)|powershell|\bbash\b|\bcmd\b")
_SHELL = frozenset(
    "shell bash powershell pwsh cmd terminal subprocess runcommand executecommand execcommand runscript executescript "
    "runcode executecode runpython executepython exec ossystem eval osascript ssh runcli executecli".split()
)
_LOOKS = re.compile(  # one command that changes nothing, without what a shell would put in or send on
    r"(?:ls|dir|pwd|cd|cat|head|tail|wc|grep|find|df|du|ps|top|free|uptime|whoami|date|echo|which|uname|hostname|stat"
    r"|git (?:status|log|diff|show)|systemctl status|get-\w+)(?: (?!-(?:exec|delete|execdir|ok)\b)[^\s;&|<>`$\n]*)*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_NO_WORD = r"[^\w'’-]+"
_SPACELESS = "\u3000"  # from here on scripts put no blanks between words


@cache
def _words() -> dict[str, tuple[str, ...]]:
    sections: dict[str, list[str]] = {}
    words: list[str] = []
    for line in Path(__file__).with_name("ask_first.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            words = sections.setdefault(line.strip("[]"), [])
        elif line.strip() and not line.startswith("#"):
            words += [word.strip() for word in line.split(",") if word.strip()]
    return {name: tuple(words) for name, words in sections.items()}


def asks_first(step: Step, before: Sequence[Step] = (), request: str = "") -> bool:
    """True when a person is asked before a step, in the block, by the guide and by the executor.

    `before` are the steps that led to it: a plain "Save" asks where what it saves gives rights ("Roles", "Editors"), or
    where the `request` says so ("a member of the group").

    >>> from ufo_experience.schema import Control
    >>> asks_first(Step(step_number=1, action_type="click", target_control=Control(name="Send", type="Button")))
    True
    """
    if runs_commands(step.action_type):
        return not _only_looks(step)
    control = step.target_control
    if is_typing(step.action_type):
        return _TERMINAL.search(f"{control.type or ''} {control.name}") is not None and not _only_looks(step)
    name = control.name.strip()
    chosen = [value for value in step.parameters.values() if isinstance(value, str)]
    if is_press(step.action_type):
        return role_of(control.type) in _SELECTED and any(map(_DELETES.fullmatch, (name, *chosen)))
    if PLACEHOLDER.fullmatch(name):
        return False
    said = [" ".join(text.casefold().split()) for text in (name, *chosen)]
    if any(_has(text, "guards") and _has(text, "turns") for text in said):
        return True
    options = said[1:] if role_of(control.type) == "combobox" else said  # its name is that of the field
    if kind_of(step.action_type) == "select" and not {*options}.isdisjoint(_words()["guards"]):
        return True
    if CARRIES_OUT.fullmatch(name):
        gives = _gives_rights(before) or _has(request.casefold(), "rights")
        return gives or _label_asks(control.within.rstrip("?？ "), "")
    return _label_asks(name or " ".join(_WORD.findall(step.action_type)), role_of(control.type))


def _gives_rights(before: Sequence[Step]) -> bool:
    """True when what was chosen since something was last carried out gives rights."""
    chosen = takewhile(lambda step: not CARRIES_OUT.fullmatch(step.target_control.name.strip()), reversed(before))
    return any(
        _has(step.target_control.name.casefold(), "rights") for step in chosen if not is_typing(step.action_type)
    )


@lru_cache(4_096)
def _label_asks(name: str, role: str) -> bool:
    """True for the label of a control of this kind ("" where it is not known) that acts, and how."""
    label = " ".join(name.casefold().split())
    if role in _LEADS or not label or label.endswith(("…", "...")) or _OPENS.fullmatch(label):
        return False
    if _has(label, "but"):
        return False
    if _has(label, "guards") and (role in _TURNED or _has(label, "turns")):
        return True
    return _SURE.fullmatch(label) is not None or any(_deeds_in(label))


def _deeds_in(name: str) -> Iterator[str]:
    """The words of a label that say what it does: "merge" of "Merge pull request"."""
    label = " ".join(name.casefold().split())
    yield from _found(label, "anywhere")
    for deed in _DEEDS.split(label):
        bare = f"{re.sub(_NO_WORD, ' ', _LEAD_IN.sub('', deed)).strip()} "
        yield from (verb for verb in _words()["verbs"] if bare.startswith(f"{verb} "))


def telling_words(name: str, request: str) -> str:
    """Words of a label: a request for it says one of them. Who is let in, or what is no longer guarded, must be said;
    where a request asks to look, what is done."""
    done = _deeds_in(name) if _has(request.casefold(), "looks") else ()
    return " ".join([*_found(name.casefold(), "guards"), *done]) or name


def _has(label: str, section: str) -> bool:
    return bool(_found(label, section))


@lru_cache(4_096)
def _found(label: str, section: str) -> tuple[str, ...]:
    """The words of a section that stand in a label, whole; in Chinese, anywhere."""
    spaced = f" {re.sub(_NO_WORD, ' ', label)} "
    return tuple(
        word for word in _words()[section] if f" {word} " in spaced or (word[0] >= _SPACELESS and word in label)
    )


@lru_cache(1_024)
def runs_commands(action_type: str) -> bool:
    """True for an action that runs commands or code (`run_shell`, `executeCommand`, …)."""
    words = [word.casefold() for word in _WORD.findall(action_type)]
    return "".join(words) in _SHELL or not _SHELL.isdisjoint(words)


def _only_looks(step: Step) -> bool:
    texts = [value for value in step.parameters.values() if isinstance(value, str)]
    return bool(texts) and all(_LOOKS.fullmatch(part.strip()) for text in texts for part in text.split("|"))


def risks(experience: Experience) -> tuple[str, ...]:
    """What a person who approves a record should look at: `asks first`, and address, path, command, amount or number
    in what its steps act on that the task does not name. Empty for a harmless one.
    """
    said = f"{experience.state.task} {experience.state.request}".casefold()
    found = set()
    for step in experience.action.steps:
        found |= {"asks first"} if asks_first(step) else set()
        for text in (step.target_control.name, *(v for v in step.parameters.values() if isinstance(v, str))):
            kind = strange_in(text)
            found |= {kind} if kind and text.casefold() not in said else set()
    return tuple(sorted(found))


on_forgetting(_label_asks.cache_clear)
on_forgetting(_found.cache_clear)
