"""What a step's words hold: an expression to calculate, key words to search for, a part of a conversation."""

import ast
import re
import unicodedata
from typing import NamedTuple

_LONGEST = 4_000
"""Characters of a step that are read. Blanks are collapsed first: patterns with gaps take quadratic time for long ones."""

_FUNCTIONS = (
    "sqrt|sin|cos|tan|asin|acos|atan|log10|log2|log|ln|exp|abs|round|floor|ceil|min|max|pow|factorial"
)
_TOKEN = re.compile(
    rf"\b(?:{_FUNCTIONS})\b(?=\s*\()|\b(?:pi|e)\b|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|[-+*/^%(),]", re.I
)
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_DATES = re.compile(r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b(?:19|20)\d\d-(?:19|20)\d\d\b")
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*", "（": "(", "）": ")", "，": ","})
_WORDS = [
    (r"(\d),(?=\d{3}(?!\d))", r"\1"),
    (rf"{_NUMBER}\s*(?:%|percent|per cent)\s+of\s+(?=[\d(])", r"\1 / 100 * "),
    (rf"(?<=\d)\s*的\s*{_NUMBER}\s*%", r" * \1 / 100"),
    (rf"multiply\s+{_NUMBER}\s+(?:by|with|and)\s+{_NUMBER}", r"\1 * \2"),
    (rf"divide\s+{_NUMBER}\s+by\s+{_NUMBER}", r"\1 / \2"),
    (rf"subtract\s+{_NUMBER}\s+from\s+{_NUMBER}", r"\2 - \1"),
    (rf"(?:add|sum of|sum)\s+{_NUMBER}\s+(?:and|to|with)\s+{_NUMBER}", r"\1 + \2"),
    (rf"product of\s+{_NUMBER}\s+and\s+{_NUMBER}", r"\1 * \2"),
    (rf"difference (?:between|of)\s+{_NUMBER}\s+and\s+{_NUMBER}", r"\1 - \2"),
    (rf"square root of\s+{_NUMBER}", r"sqrt(\1)"),
    (rf"{_NUMBER}\s+squared", r"\1 ** 2"),
    (rf"{_NUMBER}\s*(?:和|与)\s*{_NUMBER}\s*(?:相加|之和|的和)", r"\1 + \2"),
    (rf"{_NUMBER}\s*(?:和|与)\s*{_NUMBER}\s*(?:相乘|之积|的积)", r"\1 * \2"),
    (r"(?<=[\d)])\s*(?:plus|加上|加)\s*(?=[\d(])", " + "),
    (r"(?<=[\d)])\s*(?:minus|减去|减)\s*(?=[\d(])", " - "),
    (r"(?<=[\d)])\s*(?:times|multiplied by|x|乘以|乘)\s*(?=[\d(])", " * "),
    (r"(?<=[\d)])\s*(?:divided by|over|除以)\s*(?=[\d(])", " / "),
    (r"(?<=[\d)])\s*(?:to the power of)\s*(?=[\d(])", " ** "),
    (rf"{_NUMBER}\s*%(?!\s*[\d(])", r"(\1/100)"),
]


def expression_of(text: str) -> str | None:
    """The expression in a text, or None. Words between numbers count as signs; dates are not differences.

    >>> expression_of("Calculate 15% of 2,400 plus 3"), expression_of("计算 12 乘以 (3 加 4)")
    ('15 / 100 * 2400 + 3', '12 * (3 + 4)')
    >>> expression_of("Work out how many days lie between 2024-01-05 and today")
    """
    plain = _DATES.sub(" ; ", unicodedata.normalize("NFKC", text[:_LONGEST]).translate(_SIGNS))
    plain = " ".join(plain.split())
    for pattern, sign in _WORDS:
        plain = re.sub(pattern, sign, plain, flags=re.I)
    found = [expression for run in _runs(plain) if (expression := _trimmed(run)) is not None]
    return max(found, key=len, default=None)


def _runs(text: str) -> list[str]:
    """Stretches of numbers, signs and functions with nothing but white space between them."""
    runs: list[str] = []
    end = -1
    for token in _TOKEN.finditer(text):
        between = text[end : token.start()]
        if end < 0 or between.strip():
            runs.append(token.group())
        else:
            runs[-1] += between + token.group()
        end = token.end()
    return runs


def _trimmed(run: str) -> str | None:
    """A run without signs too many at its ends; None unless it is an expression with something to calculate."""
    run = " ".join(run.split())
    for _ in range(4):
        if _calculates(run):
            return run
        # Signs of the sentence around it: a bullet in front, a comma or a bracket behind.
        shorter = run.rstrip("+-*/^%, (").lstrip("+*/^%, )")
        shorter = shorter[1:] if shorter == run and run.count("(") > run.count(")") else shorter
        run = shorter[:-1].rstrip() if shorter == run and run.endswith(")") else shorter.strip()
    return None


def _calculates(run: str) -> bool:
    if not run or len(run) > 2_000:
        return False
    try:
        tree = ast.parse(run.replace("^", "**"), mode="eval").body
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
    """Which part of a conversation a step wants."""

    which: str
    """`first`, `last` or `all`."""
    number: int | None
    role: str | None
    about: str | None

    def __str__(self) -> str:
        return self.which if self.number is None else f"{self.which} {self.number}"


_ENGLISH = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: n for words in (_ENGLISH, "一二三四五六七八九十") for n, word in enumerate(words, 1)} | {
    "两": 2
}


def history_part(text: str) -> HistoryPart:
    """Which part of the conversation a text asks for.

    >>> history_part("Get the last three messages of the user about invoices")
    HistoryPart(which='last', number=3, role='user', about='invoices')
    """
    text = " ".join(text[:_LONGEST].split())
    low = text.lower()
    which = "last"
    for word, pattern in (
        ("all", r"\b(?:all|entire|whole|full|complete)\b|全部|所有|整个|完整"),
        ("first", r"\b(?:first|earliest|beginning|initial|start)\b|最初|第一|开头|最早|开始"),
    ):
        if re.search(pattern, low):
            which = word
    number = re.search(r"\b(\d{1,4})\b|(\d{1,4})\s*[条轮个]", low)
    count = int(number.group(1) or number.group(2)) if number else None
    if count is None:
        spelt = re.search(rf"\b({'|'.join(_ENGLISH)})\b|([一二两三四五六七八九十])\s*[条轮个]", low)
        count = _COUNTS[spelt.group(1) or spelt.group(2)] if spelt else None
    role = None
    if re.search(r"\b(?:user|my)\b|用户|我的", low):
        role = "user"
    elif re.search(r"\b(?:assistant|your|you)\b|助手|你的", low):
        role = "assistant"
    about = re.search(
        r"\b(?:about|regarding|concerning)\s+(.+?)[.?!]*$|关于(.+?)(?:的|[。？！]|$)", text, re.I
    )
    topic = None if about is None else (about.group(1) or about.group(2)).strip()
    return HistoryPart(which, None if which == "all" else count, role, topic)
