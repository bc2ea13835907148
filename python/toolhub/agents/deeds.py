"""Deeds: what an answer says was done ("I sent …"), and whether a call did it."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..kit import words
from .derived import spelt_as_digits
from .facts import references_of
from .names import codes_of
from .prose import names_it, stem
from .verb_forms import past_forms


class _Deed(NamedTuple):
    """A kind of deed: how answers say that it was done, in English and Chinese, and the words of tools that do it."""

    name: str
    said: str
    said_zh: str
    tools: str


_DEEDS = [
    _Deed(
        "send",
        "sent|e-?mailed|mailed|posted|notified|forwarded|replied|published|informed|alerted|reminded|messaged|texted",
        "发送|发了|发给|发到|寄出|寄给|转发|通知",
        "send mail email post notify message reply forward publish 发送 发邮件 通知",
    ),
    _Deed(
        "delete",
        "deleted|removed|erased|dropped|cleared|cancelled|canceled",
        "删除|删掉|删了|清除|清空|移除|取消",
        "delete remove erase drop clear cancel trash unlink 删除 移除 取消",
    ),
    _Deed(
        "create",
        "created|added|inserted|generated|made|opened|registered",
        "创建|新建|添加|生成|建好",
        "create add insert new make generate register open write append 创建 新建 添加 生成",
    ),
    _Deed(
        "save",
        "saved|wrote|written|overwrote|overwritten|stored|exported|uploaded|downloaded",
        "保存|存到|写入|写进|导出|上传|下载",
        "save write store put export upload download create append 保存 写入 导出 上传 下载",
    ),
    _Deed(
        "update",
        "updated|changed|edited|modified|renamed|replaced|set|fixed",
        "更新|修改|重命名|更改|改成|改为",
        "update change edit modify rename replace set patch write fix 更新 修改",
    ),
    _Deed(
        "book",
        "booked|reserved|scheduled|arranged|confirmed",
        "预订|预约|安排|订好|订了",
        "book reserve schedule create add arrange order event 预订 预约 安排",
    ),
    _Deed(
        "pay",
        "paid|purchased|bought|ordered|transferred|refunded",
        "支付|购买|下单|转账|退款|付了|付清|买了",
        "pay purchase buy order transfer refund checkout charge 支付 购买 转账",
    ),
    _Deed("move", "moved|copied", "移动|移到|复制|拷贝", "move copy rename 移动 复制"),
    _Deed(
        "run",
        "ran|executed|deployed|started|restarted|stopped",
        "运行|执行|部署|启动|重启|停止",
        "run execute deploy start restart stop shell command test 运行 执行 部署",
    ),
]
_READING = re.compile(
    "get|list|read|search|find|fetch|query|describe|show|count|check|view|load|lookup|获取|读取|搜索|查询"
)
_THINGS = re.compile("mail|email|message|post|order|event|test|command|new|book|发邮件")
"""Words that name a deed only if no verb of reading or undoing stands before them: `read_mail` sends nothing."""
_UNDOING = re.compile("delete|remove|erase|drop|clear|cancel|trash|unlink|undo|revoke|reject|取消|删除")

_FIRST = r"\b(?:I|we)(?:'ve| have|'d| had)?(?: (?:just|now|already|also|successfully|then))*\s+"
_PASSIVE = r"\b(?:has|have) (?:now |just |already |also )?been (?:successfully )?"
_OBJECT_ZH = r"(?:为您|为你|帮您|帮你|给您|给你)?(?:[将把]\S{1,12})?"
_ADVERBS = r"(?:(?:now|just|already|also|all|both|successfully|completely) )*"
_NEVER = "(?!)"


def _claim(said: str, said_zh: str) -> re.Pattern[str]:
    """What says that the agent has done it."""
    return re.compile(
        rf"(?:{_FIRST}|{_PASSIVE})(?:\w+ and )?(?:{said})\b|"
        rf"\bI(?:'ve| have)? \w+(?:ed|nt|de|ok|id|te) [^.;:]{{1,60}}? and (?:also |then )?(?:{said})\b|"
        rf"(?:已经?|我)(?:成功)?{_OBJECT_ZH}(?:成功)?(?:{said_zh})",
        re.I,
    )


def _told(said: str, said_zh: str) -> re.Pattern[str]:
    """What says that it is done. That may be told of what others did before: "the file was created in 2019".

    It is wrong only if a call was to do it and did not.
    """
    return re.compile(
        rf"^\W*(?:(?!(?:is|are|was|were|been|be|not|already|I|we)\b)\w+ ){{1,3}}(?:{said})(?=\W*$)|"
        rf"\b(?:was|were|is|are|got|been) {_ADVERBS}(?:{said})\b|\b(?:{said}),? (?:successfully|as requested)\b|"
        rf"\bsuccessfully (?:{said})\b|成功(?:{said_zh})|"
        rf"(?:{said_zh})(?:成功|完成|[^，。！？；\s]{{0,12}}了(?![^，。！？；\s]))",
        re.I,
    )


_CLAIMS = [_claim(deed.said, deed.said_zh) for deed in _DEEDS]
_TOLD = [_told(deed.said, deed.said_zh) for deed in _DEEDS]
_LISTED = frozenset(word for deed in _DEEDS for word in deed.said.split("|"))
_VERBS = frozenset(word for deed in _DEEDS for word in deed.tools.split())

_OTHER = (
    "activated|approved|archived|assigned|banned|blocked|closed|committed|disabled|disconnected|dispatched|enabled|"
    "enrolled|escalated|installed|invited|launched|locked|merged|muted|printed|pushed|rejected|reset|"
    "revoked|submitted|subscribed|triggered|turned (?:on|off)|unlocked|uninstalled|unsubscribed"
)
"""Verbs of other deeds. Which tools do them is not listed, so that any call that may act counts."""

_OTHER_CLAIM = re.compile(
    rf"{_FIRST}(?:\w+ and )?(?:{_OTHER})\b|"
    r"我已经?(?:成功)?(?:[将把]\S{1,12})?(?:推送|合并|关闭|关掉|锁定|锁上|安装|批准|重置|归档|打印|分配|订阅|邀请|提交)",
    re.I,
)
_NOT = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|unable|cannot|failed|without)\b|n't\b|没(?!问题|事|关系)|未能|无法|失败|尚未|不能",
    re.I,
)
_CONDITION = re.compile(r"(?:\b(?:if|once|until|unless|when|as soon as)\b|如果|一旦)[^,;，；]*$", re.I)
_EVERY = re.compile(
    r"(?<!after )(?<!above )(?<!at )(?<!in )\b(?:all|both|each|every\w*)\b(?! right| good)|"
    r"全部|所有|[都均](?=[已被成发删])|两[封个份条]",
    re.I,
)
_EVERY_OF = re.compile(
    r"\s*(?:(?:of )?(?:them|the \w+) )?(?:all|both|each|every\w*)\b|\s*(?:了)?(?:全部|所有|两[封个份条])",
    re.I,
)
_MANY = re.compile(r"\s+(?:all |the |all the )?(\d{1,3}) [a-z]", re.I)
_TWICE = re.compile(r"\btwice\b(?! (?:as|the))|\b(?:two|three|four|five|\d+) times\b|两次|两遍", re.I)
_LISTED_FILES = re.compile(r"[\w./-]+\.\w+(?:(?:, (?:and )?| and )[\w./-]+\.\w+)+")
_SENTENCES = re.compile(
    r"(?<=[.!?])\s+|[,;]\s+(?:but|while|whereas|although|though)\s+|，但是?|(?<=[。！？；\n])\s*", re.I
)


@functools.cache
def _words_of(deed: _Deed) -> list[str]:
    english = [word.replace("e-?mailed", "mailed") for word in deed.said.split("|")]
    return [*english, *deed.said_zh.split("|")]


def undone(answer: str, records: Iterable[Mapping[str, Any]], names: Sequence[str] = ()) -> Iterator[str]:
    """Sentences about the deeds of an answer that no successful call did.

    >>> list(undone("I have sent the mail.", [{"tool": "send_mail", "success": False}]))
    ["The answer says 'I have sent', but the call did not succeed (send)."]
    """
    known = list(records)
    failed_verbs = _failed_verbs(known)
    results = " ".join(str(record.get("result") or "") for record in known if succeeded(record)).lower()
    acted = any(succeeded(record) and not reads(record) for record in known)
    for sentence in _SENTENCES.split(answer):
        low = sentence.lower()
        for deed, claim, told in zip(_DEEDS, _CLAIMS, _TOLD, strict=True):
            # Few sentences have a word of a deed, and only these are read closely.
            if any(word in low for word in _words_of(deed)):
                done = [record for record in known if _does(record, deed.tools)]
                yield from _wrong(sentence, deed.name, claim, told, done, results, names)
        is_told = False
        for verb, forms in failed_verbs.items():
            if any(form in low for form in forms):
                done = [record for record in known if verb in words_of_tool(record)]
                for issue in _wrong(sentence, verb, *_patterns(forms), done):
                    is_told = True
                    yield issue
        found = None if acted or is_told else _OTHER_CLAIM.search(sentence)
        if found is not None and not _NOT.search(sentence[: found.end()]):
            said = found.group().strip()
            yield f"The answer says {said!r}, but no call did that ({said.rsplit(None, 1)[-1]})."


def _wrong(
    sentence: str,
    deed: str,
    claim: re.Pattern[str],
    told: re.Pattern[str],
    done: list[Mapping[str, Any]],
    results: str = "",
    names: Sequence[str] = (),
) -> Iterator[str]:
    """What is wrong with a sentence about a deed; `done` are the calls that were to do it.

    What has been done by somebody may be told if the results tell it. `names` are those of things in the results.
    """
    found = claim.search(sentence)
    is_claim = found is not None
    found = found or _told_in(sentence, told)
    if found is None or _NOT.search(sentence[: found.end()]):
        return
    said = found.group().strip()
    is_told = not re.match(r"(?:I|we)\b|我", said, re.I) and stem(said.rsplit(None, 1)[-1].lower()) in results
    good = [record for record in done if succeeded(record)]
    if not good:
        if done and (is_claim or not _was_before(said, done)):
            yield f"The answer says {said!r}, but the call did not succeed ({deed})."
        elif not done and is_claim and not is_told:
            yield f"The answer says {said!r}, but no call did that ({deed})."
    elif (missed := _missed(sentence, found, done)) is not None:
        yield f"The answer says {said!r}, but the call for {missed!r} did not succeed ({deed})."
    elif (is_claim and _is_of_another(sentence[found.start() :], good, names)) or _is_of_more(
        sentence, found, good
    ):
        yield f"The answer says {said!r}, but no call did that ({deed})."
    elif _says_every(sentence, found) and (lost := _lost(done)):
        every = f"{len(good)} of {len(good) + lost}"
        yield f"The answer says {said!r}, but only {every} calls succeeded ({deed})."


def _told_in(sentence: str, told: re.Pattern[str]) -> re.Match[str] | None:
    """Where a sentence tells a deed as done; "once it is done" tells that it is not."""
    found = told.search(sentence)
    return None if found is None or _CONDITION.search(sentence, 0, found.start()) else found


def _failed_verbs(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The verbs in the names of tools that failed, with their past forms, without those that are listed as deeds."""
    verbs: dict[str, tuple[str, ...]] = {}
    for record in records:
        if succeeded(record) or reads(record):
            continue
        named = words_of_tool(record)
        # After a verb that is known come things: `cancel_order` orders nothing.
        for word in named[:1] if named and named[0] in _VERBS else named:
            forms = tuple(form for form in past_forms(word) if form not in _LISTED)
            if forms and not _READING.fullmatch(word):
                verbs[word] = forms
    return verbs


@functools.lru_cache(maxsize=256)
def _patterns(forms: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    said = "|".join(forms)
    return _claim(said, _NEVER), _told(said, _NEVER)


def _was_before(said: str, done: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a call failed because it was done before: "is already locked"."""
    already = f"already {said.lower().rsplit(None, 1)[-1]}"
    return any(already in str(record.get("error") or "").lower() for record in done)


def _says_every(sentence: str, found: re.Match[str]) -> bool:
    """Whether a sentence says a deed of all things, and of nothing that it was not done."""
    if _NOT.search(sentence):
        return False
    before, after = sentence[: found.end()], sentence[found.end() :]
    return _EVERY.search(before) is not None or _EVERY_OF.match(after) is not None


def _lost(done: list[Mapping[str, Any]]) -> int:
    """How many calls failed while others of the same tool succeeded, without those that were made again."""
    good = [(record.get("tool"), _target(record)) for record in done if succeeded(record)]
    bad = {(record.get("tool"), _target(record)) for record in done if not succeeded(record)}
    tools = {tool for tool, _ in good}
    return len([one for one in bad if one not in good and one[0] in tools])


def same_call(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two calls are of the same tool and about the same thing, or one does not say about what."""
    alike = one.get("tool") == other.get("tool")
    return alike and (_target(one) == _target(other) or None in (_target(one), _target(other)))


def targets_in(record: Mapping[str, Any], low: str) -> bool:
    """Whether a text in lower case names what a call is about."""
    return any(names_it(name.lower(), low) for text in _texts(record) for name in _names(text))


def _is_of_another(said: str, good: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Whether a deed is said of files, codes or names only that no call was given or has returned."""
    low = said.lower()
    objects = [*references_of(said), *codes_of(said), *(name for name in names if names_it(name, low))]
    return bool(objects) and _all_tell(good) and not any(_in_calls(one, good) for one in objects)


def _is_of_more(sentence: str, found: re.Match[str], good: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a deed is said of more things than there were calls, or of one more file in a list of them."""
    if not _all_tell(good):
        return False
    if _TWICE.search(sentence, found.end()) and len(good) == 1:
        return True
    many = _MANY.match(spelt_as_digits(sentence[found.end() :]))
    if many is not None and int(many.group(1)) > len(good) and not _in_calls(many.group(1), good):
        return not any(isinstance(one, (list, tuple)) for record in good for one in _values(record))
    told = spelt_as_digits(sentence[found.end() :]).lower()
    for key in {key for record in good for key in cast("Mapping[str, Any]", record["arguments"])}:
        counted = re.search(rf"(?<![\w.,])(\d{{1,6}}) {re.escape(str(key).lower())}\b", told)
        given = [cast("Mapping[str, Any]", record["arguments"]).get(key) for record in good]
        if counted is not None and all(
            isinstance(one, int) and one != int(counted.group(1)) for one in given
        ):
            return True
    listed = [one.group() for one in _LISTED_FILES.finditer(sentence)]
    files = [list(references_of(one)) for one in listed]
    return any(len(one) > 1 and len({_in_calls(name, good) for name in one}) > 1 for one in files)


def _all_tell(good: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it is known what all these calls were given."""
    return all(isinstance(record.get("arguments"), Mapping) for record in good)


def _in_calls(name: str, good: Sequence[Mapping[str, Any]]) -> bool:
    known = " ".join(f"{record.get('arguments')} {record.get('result')}" for record in good).lower()
    return name.lower().rsplit("/", 1)[-1] in known


def _target(record: Mapping[str, Any]) -> str | None:
    """What a call is about: its first text."""
    return next(iter(_texts(record)), None)


def _missed(sentence: str, found: re.Match[str], done: Iterable[Mapping[str, Any]]) -> str | None:
    """What a sentence names of a call that did not succeed, and that is not named by one that did."""
    low = sentence.lower()
    good: set[str] = set()
    bad: list[str] = []
    for record in done:
        named = [name for text in _texts(record) for name in _names(text) if names_it(name.lower(), low)]
        named += [text for text in _amounts(record) if names_it(text, low[found.start() :])]
        if succeeded(record):
            good.update(named)
        else:
            bad += named
    return next((text for text in bad if text not in good), None)


def _names(text: str) -> list[str]:
    """How an answer may name what a text names: as it is, by the last part of a path, or by the person of an address."""
    last = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    person = re.split(r"[._+-]", text.partition("@")[0])[0] if "@" in text else ""
    return list(dict.fromkeys(name for name in (text, last, person) if len(name) > 2 or not name.isascii()))


def _amounts(record: Mapping[str, Any]) -> list[str]:
    """How an answer may write the numbers among the arguments of a call that count no things."""
    numbers = [value for value in _values(record) if isinstance(value, (int, float)) and 12 < value < 1e12]
    return [text for value in numbers for text in (f"{value:g}", f"{value:,}")]


def _texts(record: Mapping[str, Any]) -> list[str]:
    """The texts among the arguments of a call."""
    return [value for value in _values(record) if isinstance(value, str)]


def _values(record: Mapping[str, Any]) -> list[Any]:
    arguments: Any = record.get("arguments")
    return list(cast("Mapping[str, Any]", arguments).values()) if isinstance(arguments, Mapping) else []


def words_of_tool(record: Mapping[str, Any]) -> list[str]:
    """The words of the name and the title of a call's tool."""
    return words(" ".join(str(record.get(part) or "") for part in ("tool", "title")))


def reads(record: Mapping[str, Any]) -> bool:
    """Whether the name of a call's tool begins with a verb of reading."""
    named = words_of_tool(record)
    return bool(named) and _READING.fullmatch(named[0]) is not None


def succeeded(record: Mapping[str, Any]) -> bool:
    """Whether a call is known to have succeeded."""
    if "state" in record:
        return record["state"] == "done"
    return bool(record.get("success", not record.get("error")))


def _does(record: Mapping[str, Any], verbs: str) -> bool:
    """Whether the tool of a record, or a short argument of it such as `action`, names a deed."""
    short = [text for text in _texts(record) if len(text) < 30]
    named = words(" ".join([str(record.get("tool") or ""), *short]))
    first = named[0] if named else ""
    is_about = _READING.fullmatch(first) is not None or _UNDOING.fullmatch(first) is not None
    return any(
        not (is_about and _THINGS.fullmatch(word))
        and (word in named or (not word.isascii() and any(word in name for name in named)))
        for word in verbs.split()
    )
