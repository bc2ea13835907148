"""Deeds: what an answer says was done ("I sent …"), and whether a call did it."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from ..kit import words


class _Deed(NamedTuple):
    """A kind of deed: how answers say that it was done, in English and Chinese, and the words of tools that do it."""

    name: str
    said: str
    said_zh: str
    tools: str


_DEEDS = [
    _Deed(
        "send",
        "sent|e-?mailed|mailed|posted|notified|forwarded|replied|published",
        "发送|发了|寄出|通知",
        "send mail email post notify message reply forward publish 发送 发邮件 通知",
    ),
    _Deed(
        "delete",
        "deleted|removed|erased|dropped|cleared|cancelled|canceled",
        "删除|清除|移除|取消",
        "delete remove erase drop clear cancel trash unlink 删除 移除 取消",
    ),
    _Deed(
        "create",
        "created|added|inserted|generated|made|opened|registered",
        "创建|新建|添加|生成",
        "create add insert new make generate register open write append 创建 新建 添加 生成",
    ),
    _Deed(
        "save",
        "saved|wrote|written|stored|exported|uploaded|downloaded",
        "保存|写入|导出|上传|下载",
        "save write store put export upload download create append 保存 写入 导出 上传 下载",
    ),
    _Deed(
        "update",
        "updated|changed|edited|modified|renamed|replaced|set|fixed",
        "更新|修改|重命名|更改",
        "update change edit modify rename replace set patch write fix 更新 修改",
    ),
    _Deed(
        "book",
        "booked|reserved|scheduled|arranged|confirmed",
        "预订|预约|安排",
        "book reserve schedule create add arrange order event 预订 预约 安排",
    ),
    _Deed(
        "pay",
        "paid|purchased|bought|ordered|transferred|refunded",
        "支付|购买|下单|转账|退款",
        "pay purchase buy order transfer refund checkout charge 支付 购买 转账",
    ),
    _Deed("move", "moved|copied", "移动|复制", "move copy rename 移动 复制"),
    _Deed(
        "run",
        "ran|executed|deployed|started|restarted|stopped",
        "运行|执行|部署|启动|重启",
        "run execute deploy start restart stop shell command test 运行 执行 部署",
    ),
]
_READING = re.compile(
    "get|list|read|search|find|fetch|query|describe|show|count|check|view|load|lookup|获取|读取|搜索|查询"
)
_THINGS = re.compile("mail|email|message|post|order|event|test|command|new|book|发邮件")
"""Words that name a deed only if no reading verb stands before them: `read_mail` sends nothing."""

_FIRST = r"\b(?:I|we)(?:'ve| have|'d| had)?(?: (?:just|now|already|also|successfully|then))*\s+"
_PASSIVE = r"\b(?:has|have) (?:now |just |already |also )?been (?:successfully )?"
_OBJECT_ZH = r"(?:为您|为你|帮您|帮你|[将把]\S{1,12})?"
_CLAIMS = [
    re.compile(
        rf"(?:{_FIRST}|{_PASSIVE})(?:\w+ and )?(?:{deed.said})\b|"
        rf"(?:已经?|我)(?:成功)?{_OBJECT_ZH}(?:成功)?(?:{deed.said_zh})",
        re.I,
    )
    for deed in _DEEDS
]
# That something is done may be told of what others did before: "the file was created in 2019". It is wrong only if a call
# was to do it and did not.
_ADVERBS = r"(?:(?:now|just|already|also|all|both|successfully|completely) )*"
_TOLD = [
    re.compile(
        rf"\b(?:was|were|is|are|got|been) {_ADVERBS}(?:{deed.said})\b|\b(?:{deed.said}),? (?:successfully|as requested)\b|"
        rf"\bsuccessfully (?:{deed.said})\b|成功(?:{deed.said_zh})|(?:{deed.said_zh})(?:成功|完成)",
        re.I,
    )
    for deed in _DEEDS
]
_NOT = re.compile(
    r"\b(?:not|never|no|unable|cannot|failed|without)\b|n't\b|没有|未能|无法|失败|尚未|不能", re.I
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；\n])\s*")


@functools.cache
def _words_of(deed: _Deed) -> list[str]:
    english = [word.replace("e-?mailed", "mailed") for word in deed.said.split("|")]
    return [*english, *deed.said_zh.split("|")]


def undone(answer: str, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Sentences about the deeds of an answer that no successful call did.

    >>> list(undone("I have sent the mail.", [{"tool": "send_mail", "success": False}]))
    ["The answer says 'I have sent', but the call did not succeed (send)."]
    """
    known = list(records)
    for sentence in _SENTENCES.split(answer):
        low = sentence.lower()
        for deed, claim, told in zip(_DEEDS, _CLAIMS, _TOLD, strict=True):
            # Few sentences have a word of a deed, and only these are read closely.
            if not any(word in low for word in _words_of(deed)):
                continue
            found = claim.search(sentence)
            is_claim = found is not None
            found = found or told.search(sentence)
            if found is None or _NOT.search(sentence[: found.end()]):
                continue
            done = [record for record in known if _does(record, deed.tools)]
            said = found.group().strip()
            if not any(_succeeded(record) for record in done):
                if done:
                    yield f"The answer says {said!r}, but the call did not succeed ({deed.name})."
                elif is_claim:
                    yield f"The answer says {said!r}, but no call did that ({deed.name})."
            elif (missed := _missed(sentence, done)) is not None:
                yield f"The answer says {said!r}, but the call for {missed!r} did not succeed ({deed.name})."


def _missed(sentence: str, done: Iterable[Mapping[str, Any]]) -> str | None:
    """What a sentence names of a call that did not succeed, and that is not named by one that did."""
    low = sentence.lower()
    good: set[str] = set()
    bad: list[str] = []
    for record in done:
        named = [text for text in _texts(record) if len(text) > 2 and text.lower() in low]
        if _succeeded(record):
            good.update(named)
        else:
            bad += named
    return next((text for text in bad if text not in good), None)


def _texts(record: Mapping[str, Any]) -> list[str]:
    """The texts among the arguments of a call."""
    arguments: Any = record.get("arguments")
    values = cast("Mapping[str, Any]", arguments).values() if isinstance(arguments, Mapping) else ()
    return [value for value in values if isinstance(value, str)]


def _succeeded(record: Mapping[str, Any]) -> bool:
    if "state" in record:
        return record["state"] == "done"
    return bool(record.get("success", not record.get("error")))


def _does(record: Mapping[str, Any], verbs: str) -> bool:
    """Whether the tool of a record, or a short argument of it such as `action`, names a deed."""
    short = [text for text in _texts(record) if len(text) < 30]
    named = words(" ".join([str(record.get("tool") or ""), *short]))
    reads = bool(named) and _READING.fullmatch(named[0]) is not None
    return any(
        not (reads and _THINGS.fullmatch(word))
        and (word in named or (not word.isascii() and any(word in name for name in named)))
        for word in verbs.split()
    )
