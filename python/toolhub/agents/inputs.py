"""From the words of a step to the arguments of its tool, where they tell everything that the tool needs."""

import ast
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from .. import kit

Schema = Mapping[str, Any]

_STEP_RESULT = re.compile(
    r"\{\{?\s*(?:steps?[_ ]?)?(\w+?)(?:\.result)?\s*\}\}?|(?:the )?(?:result|output|answer|value) (?:of|from) step (\w+)|"
    r"step (\w+)'s (?:result|output|answer)|步骤\s*(\w+)\s*的结果",
    re.I,
)
_TOLD = re.compile(r"(?<![\w.])[\w.@:/+#-]*[A-Z0-9_@/][\w.@:/+#-]*", re.A)
"""Numbers and names: what has a digit, a capital, or a sign that words do not have."""
_THOUGHT = re.compile(r"^.*</\w*(?:think|thought|reason)\w*>", re.I | re.S)
_FENCE = re.compile(r"^\s*```\w*|```\s*$")
_NARROWING = ("enum", "const", "format", "pattern")


class NoExpressionError(Exception):
    """A calculation in which nothing can be calculated."""


def with_results(text: str, texts: Mapping[str, str]) -> str:
    """A text with the results that it refers to in their place, if they are short.

    >>> with_results("Multiply the result of step 1 by 3", {"1": "14"})
    'Multiply 14 by 3'
    """

    def put_in(found: re.Match[str]) -> str:
        named = next(group for group in found.groups() if group)
        result = texts.get(named.lower(), "").strip()
        return result if 0 < len(result) <= 100 else found.group()

    return _STEP_RESULT.sub(put_in, text)


def arguments_for(
    kind: str, said: str, schema: Schema, takes_described: bool = False
) -> dict[str, Any] | None:
    """The arguments of a harmless tool of this kind; None unless they hold every number and name of the words.

    A tool with one free text gets the words themselves; with `takes_described`, also one whose schema says more about that
    text. A calculation without any number, in digits or words, raises `NoExpressionError`.

    >>> schema = {"properties": {"query": {"type": "string"}, "count": {"type": "integer"}}, "required": ["query"]}
    >>> arguments_for("search", "Search the web for the mayor of Lyon", schema)
    {'query': 'mayor of Lyon'}
    """
    properties = _properties(schema)
    required: list[str] = list(schema.get("required") or ())
    names = required or list(properties)
    only = names[0] if len(names) == 1 and _is_text(properties.get(names[0], {})) else None
    has_number = any(sign.isnumeric() for sign in kit.in_digits(said))
    if kind == "calculation":
        if not has_number:
            raise NoExpressionError("The step contains no number to calculate with.")
        expression = expression_of(said)
        return None if only is None or expression is None else {only: expression}
    # A number may be meant for another parameter: a price, a count, a day.
    is_query = kind == "search" and (len(properties) == 1 or not has_number)
    if is_query and only is not None and _covers(keywords := keywords_of(said), said):
        return {only: keywords}
    if kind == "history" and (part := _history(said, properties, required)) is not None:
        return part
    if only is None or len(properties) != 1:
        return None
    of = properties[only]
    is_free = not any(key in of for key in _NARROWING) and (of.get("type") is None or only in required)
    return {only: said} if is_free and (takes_described or "description" not in of) else None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """A value that is an object, or the objects in a list."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", one) for one in values if isinstance(one, dict)]


def is_object_alone(text: str) -> bool:
    """Whether the answer of a model is one JSON object, perhaps in a code fence, and says nothing else.

    >>> is_object_alone('```json\\n{"to": "Ada"}\\n```'), is_object_alone('I will not send {"to": "Ada"}.')
    (True, False)
    """
    said = _FENCE.sub("", _THOUGHT.sub("", text)).strip()
    return said[:1] == "{" and said[-1:] == "}" and len(kit.json_in(said)) == 1


def unwrapped(value: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without the object that some models put around them."""
    for wrapper in ("arguments", "parameters", "args"):
        inner = None if wrapper in named else value.get(wrapper)
        if isinstance(inner, dict):
            value = cast("dict[str, Any]", inner)
    return value


def _covers(taken: str, said: str) -> bool:
    """Whether a text holds the numbers and names of another one; a capital at its beginning makes no name."""
    told = {found.group().rstrip(".:-/") for found in _TOLD.finditer(said) if not _begins(found, said)}
    # The name of the tool itself ("use search_web to …") is nothing that it has to know.
    return all(one in taken or re.fullmatch(r"[a-z]+(?:_[a-z]+)+", one) for one in told)


def _begins(found: re.Match[str], said: str) -> bool:
    return not said[: found.start()].strip() and re.fullmatch(r"[A-Z][a-z]*", found.group()) is not None


def _history(said: str, properties: Mapping[str, Schema], required: Sequence[str]) -> dict[str, Any] | None:
    """Which part of a conversation, for the parameters that can say it; None if words or parameters are left over."""
    part = history_part(said)
    if part is None:
        return None
    found: dict[str, Any] = {}
    left = {name: value for name, value in part._asdict().items() if value is not None}
    for name, of in properties.items():
        choices = cast("Sequence[Any]", of.get("enum") or ())
        if choices:
            told = [key for key, value in left.items() if value in choices]
        elif of.get("type") in ("integer", "number"):
            # The last ones are what a number of them means.
            told = ["number", "which"] if "number" in left and part.which in (None, "last") else []
        elif re.search(r"role|speaker|sender|author", name, re.I):
            told = ["role"] if "role" in left else []
        else:
            told = []
        if told:
            found[name] = left[told[0]]
            left = {key: value for key, value in left.items() if key not in told}
    if not left and all(name in found for name in required):
        return found
    only = len(properties) == 1 and not found and part.which is not None and part.role is None
    return {next(iter(properties)): str(part)} if only and _is_text(*properties.values()) else None


def _properties(schema: Schema) -> dict[str, Schema]:
    given: Any = schema.get("properties") or {}
    return {name: of if isinstance(of, Mapping) else {} for name, of in given.items()}


def _is_text(schema: Schema) -> bool:
    kind = schema.get("type")
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if "anyOf" in schema:
        choices = cast("list[Any]", schema["anyOf"])
        return any(_is_text(cast("Schema", one)) for one in choices if isinstance(one, Mapping))
    return "string" in kinds or kind is None


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
