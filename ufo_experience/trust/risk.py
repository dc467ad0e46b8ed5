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
from typing import Any
from urllib.parse import urlsplit

from ufo_experience.schema import Experience, Step
from ufo_experience.text.remembered import remembered

HELD = -1  # rank of a risky record that nobody approved: below every level a policy can ask for

# Verbs of tools, as words of an action's name ("execute_command", "deleteFile"): risky whatever the task.
_SHELL_VERBS = frozenset(
    "shell bash powershell pwsh cmd terminal subprocess runcommand executecommand execcommand runscript executescript "
    "runcode executecode runpython executepython exec system ossystem eval osascript ssh runcli executecli".split()
)
_SHELL_WORDS = _SHELL_VERBS - {"system"}  # as one word among others: "open_system_settings" runs no command
_TOOL_VERBS = {
    "delete": frozenset("delete remove erase wipe truncate unlink rmdir uninstall destroy purge".split()),
    "payment": frozenset("pay payment purchase buy checkout transfer donate charge refund withdraw".split()),
    "registry": frozenset("registry regedit".split()),
    "credential": frozenset("credential credentials password login authenticate token secret".split()),
}
_DELETES_WHAT = {  # harmless without one of these: "format_cells", "drag_and_drop"
    "format": frozenset("disk drive volume partition device".split()),
    "drop": frozenset("table tables database schema collection index partition".split()),
}
_IN_A_DOCUMENT = frozenset(  # can be undone with one key
    "text selection character characters char word line formatting format highlight highlighting style hyperlink "
    "bullet bullets bold italic underline filter filters sort backward forward".split()
)
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
    r"(?i)(?<![a-z])(?:(?:javascript|vbscript|ms-[a-z-]+|jar):(?=\S)|data:(?=[\w.+-]*[/;,])|intent:(?=[/#])"
    r"|(?:file|smb|ssh|telnet|ldap):(?=[/\\]))"
)
_SEARCH = re.compile(  # where a search begins, and nothing else of those hosts: they also redirect and take uploads
    r"(?i)https?://(?:(?:www\.)?(?:google|bing|ecosia|startpage)\.com|search\.brave\.com|(?:www\.)?duckduckgo\.com)"
    r"(?:/(?:search)?)?(?:\?q=[^\s&#]*)?"
)
_LOCAL = re.compile(r"(?i)(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)(?::\d+)?")
_REGISTRY = re.compile(r"(?i)\bHK(?:EY_[A-Z_]+|LM|CU|CR|U)\b[\\:]|\breg(?:\.exe)?\s+(?:add|delete|import|copy|load)\b")
_PATH = re.compile(
    r"(?<![\w:/\\])(?:[A-Za-z]:[\\/]|\\\\(?=[\w.$?-]+\\)|//(?=[\w.-]+/)|~[\w.-]*[\\/])[^\s\"'<>|*?]*"
    r"|(?:^|(?<=[\s\"'=(,;<>|&{}\[]))/(?:[\w.@+-]+/|\.|(?:etc|bin|sbin|usr|var|tmp|opt|root|home|dev|proc|sys|boot|mnt|media|srv"
    r"|lib\w*|users|applications|library|system|volumes|private|data|sdcard|storage)\b)[^\s\"'<>|*?]*",
    re.IGNORECASE,
)
_XPATH = re.compile(r"\({0,8}(?:/html/body\b|//[\w*-]+\[)[^\\]*")
_LOOKED_AT = re.compile(
    r"(?i)/(?:var/log/[\w./-]+|proc/(?:cpuinfo|meminfo|loadavg|uptime|version)|etc/(?:os-release|hostname|timezone"
    r"|lsb-release|debian_version))"
)
_UP = re.compile(r"(?:^|[\\/\s\"'])\.\.[\\/]|%(?:2e){2}|%2e%2e", re.IGNORECASE)
_VARIABLE = re.compile(
    r"(?i)%(?:appdata|localappdata|systemroot|windir|programdata|programfiles|temp|userprofile)%"
    r"|\$(?:env:|HOME\b|\{HOME)|shell:(?:common )?startup"
)
_OWN_FOLDERS = re.compile(
    r"(?i)(?:[a-z]:[\\/]users|/home|/users)[\\/][^\\/]+[\\/](?:documents|downloads|desktop|pictures|music|videos)\b(?!.*[\\/]\.)"
)
_PROGRAM = re.compile(
    r"(?i)(?<![\w.-])[\w.-]*[\w\s.-]\.(?:exe|bat|cmd|ps1|psm1|vbs|vbe|wsf|hta|scr|msi|msp|reg|lnk|dll|sh|bash|command|jar|cpl|desktop"
    r"|service|xll|xlam|docm|xlsm|pptm)(?![\w.])"
)
_COMMAND = re.compile(
    r"(?i)(?:^|[\s;&|`(\"'])(?:sudo\s+[\w./-]|rm\s+-|rmdir|del\s+/|rd\s+/|format\s+[a-z]:|mkfs|dd\s+if="
    r"|(?:curl|wget)\s+(?:-|\S*[./:])|chmod\s|chown\s|nc\s+-|ncat\s|bash\s+-|sh\s+-c|(?:powershell|pwsh)(?:\.exe)?\s*(?:[-/{&|\"]|$)"
    r"|cmd(?:\.exe)?\s+/|invoke-(?:expression|webrequest|restmethod)|(?:iex|iwr)\s*[(\"'$]|iwr\s+\S*[./:]|certutil|bitsadmin"
    r"|mshta|rundll32|regsvr32|wmic|schtasks|crontab\s+[-/]|net\s+(?:user|localgroup|use)\b|taskkill|shutdown(?:\.exe)?\s+[-/]"
    r"|python\d?\s+-c|perl\s+-e|node\s+-e|eval\s*\(|exec\s*\(|os\.system|subprocess\.|xp_cmdshell|base64\s+-d)"
    r"|[;&|]\s*(?:rm|curl|wget|bash|sh|nc|del|powershell)\b|\$\([^()]+\)|=\s*(?:cmd|dde|webservice|importxml)\s*[|(]"
)
_SQL = re.compile(
    r"(?i)\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from\s+[\w.\"`\[\]]+\s*(?:;|$|where\b)|alter\s+user|grant\s+all)\b"
)
_DELETES = re.compile(r"(?i)(?:^|[\s;&|])(?:rm\s+-|rmdir|del\s+/|rd\s+/|format\s+[a-z]:|mkfs|shred\s|remove-item)")
_PAYS = re.compile(
    r"(?i)\b(?:bc1[a-z0-9]{25,60}|0x[0-9a-f]{40}|[13][a-km-zA-HJ-NP-Z1-9]{26,34})\b"
    r"|\b(?:transfer|send|pay|wire|charge)\s+(?:\w+\s+){0,2}?(?:[$€£¥]\s?\d|\d[\d.,]*\s?(?:usd|eur|gbp|dollars?|euros?|btc|eth)\b)"
    r"|(?:\{\{secret:\d+\}\}|<secret>)\D{0,20}\bcvv"
)
_SECRET = re.compile(r"\{\{secret:\d+\}\}|<secret>")
_CREDENTIAL_FILE = re.compile(
    r"(?i)(?:^|[\\/\s\"'])(?:\.ssh|\.aws|\.gnupg|\.netrc|\.env|id_rsa|id_ed25519|credentials\.\w+|(?-i:Login Data)"
    r"|logins\.json|key4\.db|wallet\.dat|ntds\.dit|config[\\/]sam)(?=$|[\\/\s\"'])"
    r"|[\\/](?:g?shadow|passwd|credentials)(?=$|[\\/\s\"'])|^(?:credentials|passwd)$"
)
_LOOKS = re.compile(
    r"(?:ls|dir|pwd|cat|head|tail|wc|grep|find|df|du|ps|top|free|uptime|whoami|date|echo|which|uname|hostname|stat|file|sort"
    r"|uniq|cut|ss|netstat|lsof|lscpu|lsblk|nproc|get-childitem|get-content|get-process|get-date)(?:\s[^;&|<>`$\n\\]*)?",
    re.IGNORECASE,
)
_LOOKS_NO_MORE = re.compile(
    r"-(?:exec|delete|execdir|ok|okdir|fprint\w*|fls)\b|^sort\s(?:.*\s)?-(?:\w*o|-o|-compress)|^date\s(?:.*\s)?(?:-\w*s|--s|\d)"
    r"|^hostname\s+(?:[^-]|-\w*[bF]|--[bf])|^ss\s(?:.*\s)?-(?:\w*K|-kill)|^uniq\s+(?:-\S+\s+)*[^-\s]\S*\s+\S|^file\s(?:.*\s)?-(?:\w*C|-compile)"
)
_STARTS = re.compile(r"(?i)(?:start\s+)?(?P<name>[\w.-]+)(?:\s+\"?(?P<file>[\w .\\/-]+)\"?)?")
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
    """The trust that decides about injection. What is risky in a record does not hold it back: values that only it
    knows are never shown (`trust.values`), and its grave steps ask first (`trust.confirm`)."""
    return experience.trust.rank


def runs_commands(action_type: str) -> bool:
    """True for an action that runs commands or code (`run_shell`, `executeCommand`, …)."""
    return _of_verb(action_type)[1]


@dataclass(frozen=True)
class _Clues:
    """What an argument says by itself: kinds of risk, whatever the task; and what the task may name."""

    kinds: frozenset[str]
    urls: tuple[str, ...]
    paths: tuple[str, ...]
    programs: tuple[str, ...]
    payments: tuple[str, ...]


def _of_step(step: Step, said: str) -> Iterator[str]:
    kinds, runs = _of_verb(step.action_type)
    yield from kinds
    if runs and not _harmless(step, said):
        yield "shell"
    for text in _strings(step.parameters):
        yield from _of_argument(text, said)
    for kind in _of_control(step.target_control.name):
        if kind not in _SPOKEN or not re.search(_SPOKEN[kind], said):
            yield kind


@remembered(4_096)
def _of_verb(action_type: str) -> tuple[tuple[str, ...], bool]:
    """The risks a tool's name tells, and whether it runs commands."""
    words = [word.casefold() for word in _WORD.findall(action_type)]
    if "".join(words) in _SHELL_VERBS or _SHELL_WORDS & set(words):
        return (), True
    if not words or words[0] in _NOT_A_TOOL:
        return (), False
    kinds = {kind for kind, verbs in _TOOL_VERBS.items() if not verbs.isdisjoint(words)}
    if words[1:] and _IN_A_DOCUMENT.issuperset(words[1:]):
        kinds.discard("delete")
    if any(verb in words and not what.isdisjoint(words) for verb, what in _DELETES_WHAT.items()):
        kinds.add("delete")
    return tuple(kinds), False


@remembered(4_096)
def _of_control(name: str) -> tuple[str, ...]:
    """The risks the name of a control tells."""
    kinds = tuple(kind for kind, words in _ACTED_ON.items() if words.search(name))
    return (*kinds, "credential") if _SECRET.search(name) else kinds


def _harmless(step: Step, said: str) -> bool:
    """True when a step that runs commands only looks, or opens what the task is about."""
    commands = [text for value in step.parameters.values() for text in _strings(value)]
    return bool(commands) and all(_only_looks(text) or _only_starts(text, said) for text in commands)


def _of_argument(text: str, said: str) -> Iterator[str]:
    """Risks of one argument; addresses, paths, programs and sums the task itself names are the user's own."""
    clues = _clues(text)
    yield from clues.kinds
    if any(_is_foreign(url, said) for url in clues.urls):
        yield "address"
    if any(path not in said for path in clues.paths) or not all(_speaks_of(name, said) for name in clues.programs):
        yield "path"
    if any(words not in said for words in clues.payments):
        yield "payment"


@remembered(4_096)  # "left", "true" and names of fields stand in every other step
def _clues(text: str) -> _Clues:
    bare = _URL.sub(" ", text)
    checks = (
        ("shell", _COMMAND.search(text)),
        ("delete", _SQL.search(text) or _DELETES.search(text)),
        ("registry", _REGISTRY.search(text)),
        ("credential", _SECRET.search(text) or _CREDENTIAL_FILE.search(text)),
        ("address", _SCHEME.search(text)),
        ("path", _UP.search(text) or _VARIABLE.search(text)),
    )
    looks = _only_looks(text)
    paths = [] if _XPATH.fullmatch(text) else [match[0] for match in _PATH.finditer(bare)]
    inside = [path for path in paths if _OWN_FOLDERS.match(path) or (looks and _LOOKED_AT.fullmatch(path))]
    return _Clues(
        kinds=frozenset(kind for kind, there in checks if there),
        urls=tuple(_URL.findall(text)),
        paths=tuple(path.casefold() for path in paths if path not in inside),
        programs=tuple(match[0].strip().casefold() for match in _PROGRAM.finditer(bare)),
        payments=tuple(match[0].casefold() for match in _PAYS.finditer(text)),
    )


def _only_looks(command: str) -> bool:
    """True for a command, or several in a pipe, that read and change nothing."""
    parts = [part.strip() for part in command.split("|")]
    looks = all(_LOOKS.fullmatch(part) and not _LOOKS_NO_MORE.search(part) for part in parts)
    return looks and not _CREDENTIAL_FILE.search(command)


def _only_starts(command: str, said: str) -> bool:
    """True for opening a program the task is about, alone or with a document the task names."""
    match = _STARTS.fullmatch(command.strip())
    if match is None:
        return False
    name, file = match["name"].casefold().removesuffix(".exe"), match["file"]
    document = re.split(r"[\\\\/]", file.strip())[-1].casefold() if file else None
    return name not in _SHELL_VERBS and _speaks_of(name, said) and (document is None or _speaks_of(document, said))


def _speaks_of(name: str, said: str) -> bool:
    """True when the name stands in the task as a whole, with or without `.exe`."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.(?!exe\b)\w)", said) is not None


def _is_foreign(url: str, said: str) -> bool:
    """True for an address on a host that neither this machine has nor the task names."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, user = (parts.hostname or "").casefold(), parts.username
    except ValueError:
        return True
    if user is not None or not host:
        return True
    if _SEARCH.fullmatch(url):
        return False
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
