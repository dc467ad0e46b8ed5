"""The name of a control that a log gives only in words: in the agent's thought, or in a comment of its code.

"I'll click the 'File' menu" names File, a menu. What is not said plainly stays unnamed: a wrong name is worse than
none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Named = tuple[str, str]  # the name and the role ("" when it is not said)

MAX_SAID = 4_000
_QUOTED = (
    r"[\"“”«„]([^\"“”«»„\n]{1,60})[\"“”»]|(?<!\w)['‘`]([^'‘’`\n]{1,60})['’`](?!\w)|[「『《]([^」』》\n]{1,60})[」』》]"
)
_ROLES = (
    "button|menu item|menu|tab|icon|link|field|text ?box|bar|box|check ?box|option|entry|drop-?down"
    "|cell|list|item|toggle|switch|slider|folder|file|row|column|dialog|window|image|thumbnail|shortcut|tool|arrow|area"
)
_ROLES_ZH = "按钮|菜单项|菜单|选项卡|选项|图标|链接|标签页|标签|输入框|搜索框|文本框|复选框|单元格|文件夹|文件|列表"
_VERB = (
    r"(?i:\b(?:(?:left|right|double|triple|middle)[- ]?)?click(?:ing)?|\b(?:tap|press|select|choos|pick|open|hit|toggl"
    r"|check|uncheck|enabl|disabl|drag|expand|activat|focus|long-press)(?:p?ing|e|s)?|\btyp(?:e|ing) (?:in(?:to)?|on)"
    r"|\benter(?:ing)? .{1,30}? (?:in(?:to)?))\b|点击|单击|双击|右键|点选|选择|选中|打开|勾选"
)
_BETWEEN = r"(?:[ \t]*(?i:on|onto|at|the|a|an|its|this|that|labell?ed|called|named|titled|again|now|twice|once))*[ \t]*"
_NOUN = rf"(?P<noun>(?:[\w&+/'.-]{{1,40}} ){{0,4}}?)(?P<role>{_ROLES})\b"
_SAID = re.compile(
    rf"(?:{_VERB}){_BETWEEN}(?:(?:[\w-]{{1,40}} ){{0,3}}?(?P<before>{_ROLES})? ?(?:labell?ed |called |named )?"
    rf"[^\w\s\"“'‘`「『《«]{{0,2}}(?:{_QUOTED})\s?(?P<after>{_ROLES}|{_ROLES_ZH})?"
    rf"|(?i:cells?) (?P<cell>[A-Z]{{1,3}}\d{{1,6}}(?::[A-Z]{{1,3}}\d{{1,6}})?)\b|{_NOUN})"
)
_SAID_ZH = re.compile(
    rf"(?:点击|单击|双击|右键|点选|选择|选中|打开|勾选)[^，。；\n\"“「『]{{0,12}}(?:{_QUOTED})\s?(?P<after>{_ROLES_ZH})?"
)
_SENTENCE = re.compile(r"(?<=[.!?。！？;；\n])\s*")
_LATER = re.compile(r"(?i)\A\s*(?:then|after|afterwards|finally|later|once|next time|when)\b")
_KEYS = frozenset(
    "enter return tab esc escape space backspace delete ctrl alt shift home end up down left right".split()
)
_VAGUE = frozenset(
    "it first second third next last same correct right other appropriate relevant desired corresponding new this that "
    "of in to for from with and or which is".split()
)


def names_in(text: str) -> list[Named]:
    """The controls a text says are acted on, in its order, each once; keys are none."""
    found: dict[str, Named] = {}
    for pattern in (_SAID, _SAID_ZH):
        for match in pattern.finditer(text[:MAX_SAID]):
            name, role = _named(match)
            if name and (role or name.casefold() not in _KEYS):
                found.setdefault(name.casefold(), (name, role))
    return list(found.values())


def name_of_next(text: str) -> Named | None:
    """The control a thought says is acted on next; None when it names none.

    It is the only one that is named, else the first of the last sentence about now.
    """
    whole = names_in(text)
    if len(whole) < 2:
        return whole[0] if whole else None
    sentences = [part for part in _SENTENCE.split(text[:MAX_SAID]) if part and not _LATER.match(part)]
    for sentence in reversed(sentences):
        if found := names_in(sentence):
            return found[0]
    return whole[0]


def name_each(count: int, comments: Sequence[str], thought: str) -> list[Named | None]:
    """The names of `count` controls that one message acts on, by the comment before each, else by the thought.

    A thought names them only when it names as many, or when there is one.
    """
    by_comment = [name_of_next(comment) if comment else None for comment in comments]
    if any(by_comment):
        return by_comment
    if count == 1:
        return [name_of_next(thought)]
    mentioned = names_in(thought)
    return list(mentioned) if len(mentioned) == count else [None] * count


def _named(match: re.Match[str]) -> Named:
    groups = match.groupdict()
    quoted = next((group for group in match.groups() if group and group not in groups.values()), "")
    role = (groups.get("after") or groups.get("before") or "").casefold()
    if quoted.strip():
        name = quoted.strip(" ,:;")
        return (name if name.endswith("..") else name.rstrip(".")), role
    if groups.get("cell"):
        return groups["cell"], "cell"
    noun, kind = (groups.get("noun") or "").strip(), groups.get("role") or ""
    if noun[:1].isupper():  # "Sign in", "Privacy and security"
        return noun, kind.casefold()
    if not noun or not _VAGUE.isdisjoint(noun.casefold().split()):
        return "", ""
    return f"{noun} {kind}", kind.casefold()
