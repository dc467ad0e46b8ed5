"""Which remembered steps could do harm, by rules that are data: shell, address, path, registry, payment, deletion,
credential.

A record with such a step is held back until a person approves it, however its run was judged: trust says where a
record comes from, not that it is harmless. What a step does as part of its own task ("delete the last slide" → the
button Delete) is no risk; an argument that reaches out of the application is one whatever the task says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from ufo_experience.schema import Experience, Step, Trust

HELD = -1  # rank of a risky record that nobody approved: below every level a policy can ask for

# Verbs of tools, as words of an action's name ("execute_command", "deleteFile"): risky whatever the task.
_SHELL_VERBS = frozenset(
    "shell bash powershell pwsh cmd terminal subprocess runcommand executecommand execcommand runscript executescript "
    "runcode executecode runpython executepython exec system eval osascript ssh runcli executecli".split()
)
_TOOL_VERBS = {
    "delete": frozenset("delete remove erase wipe format drop truncate unlink rmdir uninstall destroy purge".split()),
    "payment": frozenset("pay payment purchase buy checkout transfer donate charge refund withdraw".split()),
    "registry": frozenset("registry regedit".split()),
    "credential": frozenset("credential credentials password login authenticate token secret".split()),
}
_NOT_A_TOOL = frozenset("click type press select get read is has wait scroll open focus find hover".split())

# Words on a control that is clicked: risky unless the task speaks of the same thing.
_CONTROLS = {
    "delete": r"delete|erase|wipe|format (?:disk|drive|volume)|empty (?:trash|recycle bin)|uninstall|factory reset"
    r"|reset (?:this )?(?:pc|device|phone)|permanently|löschen|supprimer|eliminar|удалить|删除|削除",
    "payment": r"pay(?:ment)?|buy(?: now)?|purchase|place (?:your )?order|check ?out|send money"
    r"|transfer (?:money|funds)|donate|subscribe|confirm (?:and )?pay|bezahlen|kaufen|payer"
    r"|acheter|pagar|comprar|оплатить|支付|购买|購入",
}
_SPOKEN = {
    "delete": r"delet|remov|eras|wip|empty|uninstall|reset|format|clear|trash|discard|lösch|supprim"
    r"|elimin|удал|删|削除",
    "payment": r"\b(?:pay|buy|bought|purchas|order|check ?out|transfer|send \W?\d|donat|subscri|shop)|cart|bezahl|kauf"
    r"|bestell|pay|achet|pag|compr|оплат|куп|支付|购|購",
}

_ACTED_ON = {kind: re.compile(rf"(?i)(?<!\w)(?:{words})(?!\w)") for kind, words in _CONTROLS.items()}

_URL = re.compile(r"(?i)\b(?:https?|ftps?|wss?)://[^\s\"'<>]+|\bwww\.[^\s\"'<>]+")
_SCHEME = re.compile(
    r"(?i)(?<![a-z])(?:javascript|vbscript|data|file|ms-[a-z-]+|smb|ssh|telnet|ldap|jar|intent):(?=\S)"
)
_LOCAL = re.compile(r"(?i)(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)(?::\d+)?")
_REGISTRY = re.compile(r"(?i)\bHK(?:EY_[A-Z_]+|LM|CU|CR|U)\b[\\:]|\breg(?:\.exe)?\s+(?:add|delete|import|copy|load)\b")
_PATH = re.compile(r"(?<![\w:/\\])(?:[A-Za-z]:[\\/]|\\\\|//|~[\\/]?|/(?=[A-Za-z.]))[^\s\"'<>|*?]*")
_UP = re.compile(r"(?:^|[\\/\s\"'])\.\.[\\/]|%(?:2e){2}|%2e%2e", re.IGNORECASE)
_VARIABLE = re.compile(
    r"(?i)%(?:appdata|localappdata|systemroot|windir|programdata|programfiles|temp|userprofile)%"
    r"|\$(?:env:|HOME\b|\{HOME)|shell:(?:common )?startup"
)
_OWN_FOLDERS = re.compile(
    r"(?i)(?:[a-z]:[\\/]users|/home|/users)[\\/][^\\/]+[\\/](?:documents|downloads|desktop|pictures|music|videos)\b(?!.*[\\/]\.)"
)
_PROGRAM = re.compile(
    r"(?i)[\w\s.-]\.(?:exe|bat|cmd|ps1|psm1|vbs|vbe|wsf|hta|scr|msi|msp|reg|lnk|dll|sh|bash|command|jar|cpl|desktop"
    r"|service|xll|xlam|docm|xlsm|pptm)(?![\w.])"
)
_COMMAND = re.compile(
    r"(?i)(?:^|[\s;&|`(\"'])(?:sudo|rm\s+-|rmdir|del\s+/|rd\s+/|format\s+[a-z]:|mkfs|dd\s+if=|curl\s|wget\s|chmod\s|chown\s"
    r"|nc\s+-|ncat\s|bash\s+-|sh\s+-c|powershell|pwsh|cmd(?:\.exe)?\s+/|invoke-(?:expression|webrequest|restmethod)|iex\b"
    r"|iwr\b|certutil|bitsadmin|mshta|rundll32|regsvr32|wmic|schtasks|crontab|net\s+(?:user|localgroup|use)\b|taskkill"
    r"|shutdown|python\d?\s+-c|perl\s+-e|node\s+-e|eval\s*\(|exec\s*\(|os\.system|subprocess\.|xp_cmdshell|base64\s+-d)"
    r"|[;&|]\s*(?:rm|curl|wget|bash|sh|nc|del|powershell)\b|\$\([^)]+\)|=\s*(?:cmd|dde|webservice|importxml)\s*[|(]"
)
_SQL = re.compile(
    r"(?i)\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from|alter\s+user|grant\s+all)\b"
)
_DELETES = re.compile(r"(?i)(?:^|[\s;&|])(?:rm\s+-|rmdir|del\s+/|rd\s+/|format\s+[a-z]:|mkfs|shred\s|remove-item)")
_PAYS = re.compile(
    r"(?i)\b(?:bc1[a-z0-9]{25,60}|0x[0-9a-f]{40}|[13][a-km-zA-HJ-NP-Z1-9]{26,34})\b"
    r"|\b(?:transfer|send|pay|wire|charge)\s+(?:\w+\s+){0,2}?(?:[$€£¥]\s?\d|\d[\d.,]*\s?(?:usd|eur|gbp|dollars?|euros?|btc|eth)\b)"
    r"|(?:\{\{secret:\d+\}\}|<secret>)\D{0,20}\bcvv"
)
_SECRET = re.compile(r"\{\{secret:\d+\}\}|<secret>")
_CREDENTIAL_FILE = re.compile(
    r"(?i)(?:^|[\\/\s\"'])(?:\.ssh|\.aws|\.gnupg|\.netrc|\.env|id_rsa|id_ed25519|shadow|passwd|credentials(?:\.\w+)?|"
    r"login data|logins\.json|key4\.db|wallet\.dat|ntds\.dit|config[\\/]sam)(?=$|[\\/\s\"'])"
)
_LOOKS = re.compile(
    r"(?:ls|dir|pwd|cat|head|tail|wc|grep|find|df|du|ps|top|free|uptime|whoami|date|echo|which|uname|hostname|stat|file|sort|uniq"
    r"|get-childitem|get-content|get-process|get-date)(?:\s[^;&|<>`$\n\\]*)?",
    re.IGNORECASE,
)  # fmt: skip
_LOOKS_NO_MORE = re.compile(r"-(?:exec|delete|execdir|ok|fprint)\b")
_OF_PROSE = frozenset({"shell", "delete", "payment", "registry"})  # names of windows are full of paths and addresses
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def risks(experience: Experience) -> tuple[str, ...]:
    """The kinds of risk in what a record would have an agent do, sorted; empty for a harmless one."""
    action, state = experience.action, experience.state
    said = " ".join((state.task, state.request, state.application or "")).casefold()
    found = {kind for step in action.steps for kind in _of_step(step, said)}
    for text in _strings(action.parameters):
        found |= set(_of_argument(text, said))
    for text in (action.strategy, action.skill, *experience.preconditions, *experience.avoid_when):
        found |= set(_of_argument(text, said)) & _OF_PROSE
    return tuple(sorted(found))


def injectable_rank(experience: Experience) -> int:
    """The trust that decides about injection: a risky record counts for nothing until it is approved.

    A failed run is shown as what not to do, so its risky step is a warning and holds nothing back.
    """
    if experience.trust is Trust.APPROVED or experience.is_negative or not risks(experience):
        return experience.trust.rank
    return HELD


@dataclass(frozen=True)
class _Clues:
    """What an argument says by itself: kinds of risk, whatever the task; addresses and paths the task may name."""

    kinds: frozenset[str]
    urls: tuple[str, ...]
    paths: tuple[str, ...]


def _of_step(step: Step, said: str) -> Iterator[str]:
    kinds, runs = _of_verb(step.action_type)
    yield from kinds
    if runs and not _harmless(step):
        yield "shell"
    for text in _strings(step.parameters):
        yield from _of_argument(text, said)
    for kind in _of_control(step.target_control.name):
        if kind not in _SPOKEN or not re.search(_SPOKEN[kind], said):
            yield kind


@lru_cache(maxsize=4096)
def _of_verb(action_type: str) -> tuple[tuple[str, ...], bool]:
    """The risks a tool's name tells, and whether it runs commands."""
    words = [word.casefold() for word in _WORD.findall(action_type)]
    if "".join(words) in _SHELL_VERBS or _SHELL_VERBS & set(words):
        return (), True
    if not words or words[0] in _NOT_A_TOOL:
        return (), False
    return tuple(kind for kind, verbs in _TOOL_VERBS.items() if not verbs.isdisjoint(words)), False


@lru_cache(maxsize=4096)
def _of_control(name: str) -> tuple[str, ...]:
    """The risks the name of a control tells."""
    kinds = tuple(kind for kind, words in _ACTED_ON.items() if words.search(name))
    return (*kinds, "credential") if _SECRET.search(name) else kinds


def _harmless(step: Step) -> bool:
    """True when a step that runs commands only looks."""
    commands = [text for value in step.parameters.values() for text in _strings(value)]
    return bool(commands) and all(map(_only_looks, commands))


def _of_argument(text: str, said: str) -> Iterator[str]:
    """Risks of one argument; addresses and paths the task itself names are the user's own."""
    clues = _clues(text)
    yield from clues.kinds
    if any(_is_foreign(url, said) for url in clues.urls):
        yield "address"
    if any(path not in said for path in clues.paths):
        yield "path"


@lru_cache(maxsize=4096)  # "left", "true" and names of fields stand in every other step
def _clues(text: str) -> _Clues:
    bare = _URL.sub(" ", text)
    checks = (
        ("shell", _COMMAND.search(text)),
        ("delete", _SQL.search(text) or _DELETES.search(text)),
        ("payment", _PAYS.search(text)),
        ("registry", _REGISTRY.search(text)),
        ("credential", _SECRET.search(text) or _CREDENTIAL_FILE.search(text)),
        ("address", _SCHEME.search(text)),
        ("path", _UP.search(text) or _VARIABLE.search(text) or _PROGRAM.search(bare)),
    )
    paths = [match[0] for match in _PATH.finditer(bare)]
    return _Clues(
        kinds=frozenset(kind for kind, there in checks if there),
        urls=tuple(_URL.findall(text)),
        paths=tuple(path.casefold() for path in paths if not _OWN_FOLDERS.match(path)),
    )


def _only_looks(command: str) -> bool:
    """True for a command that reads and changes nothing."""
    bare = command.strip()
    return bool(_LOOKS.fullmatch(bare)) and not _LOOKS_NO_MORE.search(bare) and not _CREDENTIAL_FILE.search(bare)


def _is_foreign(url: str, said: str) -> bool:
    """True for an address on a host that neither this machine has nor the task names."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, user = (parts.hostname or "").casefold(), parts.username
    except ValueError:
        return True
    if user is not None or not host:
        return True
    labels = [label for label in host.removeprefix("www.").split(".")[:-1] if len(label) > 2] or [host]
    return not (_LOCAL.fullmatch(host) or host in said or re.search(rf"(?<!\w){re.escape(labels[-1])}(?!\w)", said))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
