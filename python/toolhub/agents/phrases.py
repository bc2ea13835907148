"""What a step's words hold: an expression to calculate, key words to search for, a part of a conversation."""

import ast
import re
import unicodedata
from typing import NamedTuple

_LONGEST = 4_000
"""Characters of a step that are read. Blanks are collapsed first: patterns with gaps take quadratic time for long ones."""

_TOKENS = re.compile(
    r"(?:(?:sqrt|sin|cos|tan|asin|acos|atan|log10|log2|log|ln|exp|abs|round|floor|ceil|min|max|pow|factorial)(?=\s*\()|"
    r"\b(?:pi|e)\b|(?<![\d.])\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|[-+*/%(),]|\s)+",
    re.I,
)
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*", "（": "(", "）": ")", "，": ","})
_WORDS = [
    (r"(\d),(?=\d{3}(?!\d))", r"\1"),
    (rf"{_NUMBER}\s*(?:%|percent|per cent)\s+of\s+(?=[\d(])", r"\1 / 100 * "),
    (rf"(?<=\d)\s*的\s*{_NUMBER}\s*%", r" * \1 / 100"),
    (r"(?<=[\d)])\s*(?:plus|加上|加)\s*(?=[\d(])", " + "),
    (r"(?<=[\d)])\s*(?:minus|减去|减)\s*(?=[\d(])", " - "),
    (r"(?<=[\d)])(?:\s*(?:times|multiplied by|乘以|乘)\s*| x )(?=[\d(])", " * "),
    (r"(?<=[\d)])\s*(?:divided by|over|除以)\s*(?=[\d(])", " / "),
]
_FORMS = [
    (rf"multiply {_NUMBER} (?:by|with|and) {_NUMBER}", "*"),
    (rf"divide {_NUMBER} by {_NUMBER}", "/"),
    (rf"add {_NUMBER} (?:and|to|with) {_NUMBER}", "+"),
    (rf"{_NUMBER} ?(?:和|与) ?{_NUMBER} ?相加", "+"),
    (rf"{_NUMBER} ?(?:和|与) ?{_NUMBER} ?相乘", "*"),
]
_AROUND = (
    r"(?:please|calculate|compute|evaluate|work out|what is|how much is|the (?:value|result) of|"
    r"请|帮我|计算|算一下|求|把|等于多少|是多少|等于|的值|的结果|[\s:：,?？.。!！=])"
)
"""Words around an expression that change nothing about it. With any other word, somebody who understands it has to write it."""


def expression_of(text: str) -> str | None:
    """The expression that a text asks to calculate, or None if there are words that it does not hold.

    >>> expression_of("Calculate 15% of 2,400 plus 3"), expression_of("计算 12 乘以 (3 加 4)")
    ('15 / 100 * 2400 + 3', '12 * (3 + 4)')
    >>> expression_of("Calculate 5 + 3 and then multiply by 2")
    """
    # Powers, fractions and numbers in circles (`3²`, `½`) would become other numbers; `^` is a power to some calculators, and
    # to others it combines bits.
    if len(text) > _LONGEST or any(sign in "^＾" or unicodedata.category(sign) == "No" for sign in text):
        return None
    plain = " ".join(unicodedata.normalize("NFKC", text).translate(_SIGNS).split())
    for pattern, sign in _WORDS:
        plain = re.sub(pattern, sign, plain, flags=re.I)
    plain = re.sub(rf"^{_AROUND}+|{_AROUND}+$", "", plain, flags=re.I)
    for pattern, sign in _FORMS:
        if found := re.fullmatch(pattern, plain, re.I):
            one, other = (number for number in found.groups() if number)
            return f"{one} {sign} {other}"
    return plain if _TOKENS.fullmatch(plain) and _calculates(plain) and not _DATES.search(plain) else None


_DATES = re.compile(r"(?<!\d)\d{4}-\d{1,2}-\d{1,2}(?!\d)|(?<!\d)(?:19|20)\d\d-(?:19|20)\d\d(?!\d)")


def _calculates(expression: str) -> bool:
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    inner = tree.operand if isinstance(tree, ast.UnaryOp) else tree
    return isinstance(inner, (ast.BinOp, ast.Call))


_ASKING = (
    r"(?:(?:please|first|next|then|finally|now|can you|could you|i need to|we need to|let'?s|"
    r"use \S+ to|using \S+,?)[, ]+)*"
)
_LOOKING = (
    r"(?:search|look up|look for|look|find out|find|google|browse|query|research|check|get|fetch|retrieve|gather|collect|"
    r"identify|determine)\b"
)
_PLACES = r"(?: (?:the |on the |in the )?(?:web|internet|online|google|news|knowledge base|database))?"
_ABOUT = r"(?: (?:for|about|on|regarding|information|info|details|data|up|out|the latest information))*"
_LEADING = re.compile(
    rf"^\s*{_ASKING}(?:{_LOOKING}{_PLACES}{_ABOUT}\s+)?(?:(?:what|who|when|where) (?:is|are|was|were)\s+)?",
    re.I,
)
_TRAILING = re.compile(
    r"[,;]?\s*(?:\b(?:and|then)\s+(?:then\s+)?(?:summari[sz]e|report|list|return|give|tell|write|compare|calculate|compute|"
    r"extract|explain)\b.*|\b(?:online|on the (?:web|internet))|\b(?:using|with|via)\s+\w*_\w+)\s*[.?!]*\s*$",
    re.I,
)
_ZH_LEADING = re.compile(
    r"^\s*(?:请|帮我|首先|然后|接着|最后|先|再|使用\s*\w+|用\s*\w+|[，, ])*(?:在网上|上网|在互联网上|从网上)?"
    r"(?:搜索|查找|查询|检索|搜寻|搜一下|查一下|查|搜|寻找|了解|获取)(?:一下)?(?:关于|有关)?\s*[:：]?\s*"
)
_ZH_THEN = re.compile(r"[，,；]?\s*(?:并|然后|再)(?:总结|整理|列出|返回|比较|计算|说明|告诉).*$")
_ZH_TRAILING = re.compile(r"(?:的?(?:相关)?(?:信息|资料|内容))?[。？！]*\s*$")


def keywords_of(text: str) -> str:
    """The key words of a step that searches, without its verbs.

    >>> keywords_of("Search the web for the population of Paris in 2024 and summarise it.")
    'population of Paris in 2024'
    >>> keywords_of("请搜索关于量子计算的最新进展")
    '量子计算的最新进展'
    """
    text = " ".join(text[:_LONGEST].split())
    words = _TRAILING.sub("", _LEADING.sub("", text, count=1)).strip()
    # What to do with the hits, then "information about" itself.
    words = _ZH_TRAILING.sub("", _ZH_THEN.sub("", _ZH_LEADING.sub("", words, count=1))).strip()
    words = re.sub(r"^(?:the|a|an)\s+", "", words, flags=re.I).rstrip(".?!。？！").strip()
    if len(words) > 2 and words[0] in "\"'“「『" and words[-1] in "\"'”」』":
        words = words[1:-1]
    return words or text


class HistoryPart(NamedTuple):
    """Which part of a conversation a step wants; None for what it does not say."""

    which: str | None
    """`first`, `last` or `all`."""
    number: int | None
    role: str | None

    def __str__(self) -> str:
        return f"{self.which}" if self.number is None else f"{self.which} {self.number}"


_ENGLISH = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: n for words in (_ENGLISH, "一二三四五六七八九十") for n, word in enumerate(words, 1)} | {
    "两": 2
}
_PARTS = {
    "all": r"\b(?:all|entire|whole|full|complete)\b|全部|所有|整个|完整",
    "first": r"\b(?:first|earliest)\b|最初|最早",
    "last": r"\b(?:last|latest|recent|most recent)\b|最近|最后",
}
_ROLES = {"user": r"\b(?:user(?:'s)?|my)\b|用户|我", "assistant": r"\b(?:assistant(?:'s)?|your)\b|助手|你"}
_COUNT = rf"\b(?:\d{{1,4}}|{'|'.join(_ENGLISH)})\b|(?:\d{{1,4}}|[一二两三四五六七八九十])(?=\s*[条轮个])"
_OTHERS = (
    r"\b(?:please|get|read|show|list|fetch|retrieve|look at|me|the|this|our|of|from|in|by|so far|conversation|chat|history|"
    r"messages?|questions?|answers?|turns?)\b|请|获取|查看|读取|列出|这次|对话|聊天|历史|记录|消息|问题|回答|[条轮个的\s,.?!，。？！]"
)


def history_part(text: str) -> HistoryPart | None:
    """Which part of the conversation a text asks for; None if it says something else too.

    >>> history_part("Get the last three messages of the user")
    HistoryPart(which='last', number=3, role='user')
    >>> history_part("Get the last three messages about invoices")
    """
    if len(text) > _LONGEST:
        return None
    left = text.lower()
    found: dict[str, list[str]] = {}
    for name, pattern in {**_PARTS, **_ROLES, "number": _COUNT}.items():
        if said := re.findall(pattern, left):
            found[name] = said
            left = re.sub(pattern, " ", left)
    which = [name for name in _PARTS if name in found]
    role = [name for name in _ROLES if name in found]
    counts = found.get("number", [])
    if max(len(which), len(role), len(counts)) > 1 or re.sub(_OTHERS, "", left):
        return None
    number = (int(counts[0]) if counts[0].isdigit() else _COUNTS[counts[0]]) if counts else None
    return HistoryPart(next(iter(which), None), number, next(iter(role), None))
