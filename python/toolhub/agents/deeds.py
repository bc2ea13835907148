"""Deeds: what an answer says was done ("I sent …", "已发送"), and whether a successful call of a tool with that verb did it.

The verbs are those by which the hub judges the names of tools. Nothing is said where a call may have done it under another
name: right, or silent.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from .. import kit
from ..kit import whole
from .facts import references_of
from .figures import parts

_TARGETS, _CLAIMS = 50, 200
_NEAR = 200
"""Characters around a verb that are read, so that a sentence without an end costs no more than others."""

_CALLING = {"call", "run", "execute", "invoke", "open", "request", "report"}
"""Whoever calls any tool, also one that reads, may say this of it."""

_ANYTHING = {"sql", "statement", "method", "command", "code"}
"""Parameters of tools that do whatever they are told."""

_ON, _OFF = {"on", "open"}, {"off", "close", "shut"}
_DELETES = {"=delete"}
"""Whoever deletes does nothing else, and nothing else deletes."""

_ADVERBS = r"(?:(?:now|just|already|also|then|all|both|\w+ly) )*"
_OWN = re.compile(
    rf"(?i)\b(?:I|we)(?:['’](?:ve|d))?(?: have| had)? {_ADVERBS}$|"
    rf"\b(?:I|we)(?:['’]ve| have)? \w+(?:ed|nt|id|ook|ound|ead) [^.;:]{{1,80}} and (?:have )?{_ADVERBS}$"
)
_JOINED = re.compile(rf"(?:,|,? and|,? then) (?:(?:I|we) )?(?:have )?{_ADVERBS}$", re.I)
_PERFECT = re.compile(rf"\b(?:has|have) {_ADVERBS}been {_ADVERBS}$", re.I)
_TOLD = re.compile(rf"\b(?:is|are|was|were|got|been) {_ADVERBS}$|^\W*(?:successfully )?$", re.I)
_NOUN = re.compile(r"\W*(?:the |your )?(\w+) (?:is |was )?(?:made|done|complete|successful)[.!]*$", re.I)
_TO = re.compile(r"\bto ([A-Z][a-z]+)\b(?! [A-Z@])")
_NOT = re.compile(
    r"(?i)\b(?:not|never|no|none|nothing|nobody|unable|cannot|failed|without|if|once|until|unless|when|before|after)\b|n['’]t\b"
)
_NOT_ZH = re.compile("没|未|无法|不|失败|尚|如果|是否|请|需要|可以|准备|正在")
_OWN_ZH = re.compile(r"我|^\W*(?:已经?)?[为帮给][您你]")
_DONE_ZH = re.compile("已|成功|刚")
_DONE_AFTER_ZH = re.compile("成功|完成|完毕|[^，]{0,12}了$|了")
_CLAUSES_ZH = re.compile("[，,；;。！？!?\n]")
_SENTENCES = re.compile(r"(?<=[.!?]) |[,;] (?i:but|while|although|though) | but |，但是?|(?<=[。！？；;\n])")
_EVERY = re.compile(
    r"(?i)\b(?:all|both|each|every)\b(?: of)?(?: the| them| your)*(?: (\w+))?|都|均|全部|所有|两[封个份条]"
)


class Call(NamedTuple):
    """A call that was made."""

    means: set[str]
    """What the words of its name mean, and of an argument such as `action="send"`."""
    does: set[str] | None
    """What the acting verb of its name means; None if it may act all the same."""
    is_done: bool
    may_act: bool
    targets: set[str]
    text: str
    """Its arguments and its result."""

    @classmethod
    def of(cls, record: Mapping[str, Any], text: str) -> "Call":
        """The call of a record; a record without a tool is a text that reads like a result."""
        tool = whole(str(record.get("tool") or "")[:200])
        values = [one for one in parts(record.get("arguments")) if isinstance(one, (str, int))][:_TARGETS]
        texts = [str(one)[:200].lower() for one in values if not isinstance(one, int) or abs(one) < 1e15]
        name = " ".join(
            (tool, str(record.get("title") or "")[:200], *(one for one in texts if one.isalpha()))
        )
        means, verb = set(kit.meanings(whole(name))), kit.acting_verb(tool) if tool else None
        given = record.get("arguments")
        names = set(cast("dict[str, Any]", given)) if isinstance(given, dict) else set[str]()
        free = verb == "" or bool(_ANYTHING & names)
        does = None if free else set(kit.meanings(verb or ""))
        targets = {part for one in texts for part in (one, one.rpartition("/")[2]) if 2 <= len(part) <= 60}
        return cls(means, does, succeeded(record), verb is not None, targets, text.lower())


def succeeded(record: Mapping[str, Any]) -> bool:
    """Whether a call succeeded: by its state, as in the ledger, or by its result."""
    if record.get("state") is not None:
        return record["state"] == "done"
    return record.get("success", record.get("error") is None) is True


class _Claim(NamedTuple):
    said: str
    verb: str
    means: set[str]
    clause: str
    sides: set[str]
    kind: str
    """`own` (I sent it), `perfect` (it has been sent) or `told` (it was sent), which others may have done before."""

    def opposes(self, call: Call) -> bool:
        """Whether the call did the contrary: on and off."""
        sides = [(bool(one & _ON), bool(one & _OFF)) for one in (self.sides, call.means)]
        return sorted(sides) == [(False, True), (True, False)]

    def is_of(self, call: Call) -> bool:
        """Whether the call was to do this. A noun in its name counts only for what the agent says of itself."""
        does = call.does if call.does is not None else set[str]() if self.kind == "told" else call.means
        return not self.opposes(call) and bool(self.means & (call.means if self.kind == "own" else does))


def undone(answer: str, calls: Sequence[Call], question: str) -> Iterator[str]:
    """Sentences about the deeds of an answer that no successful call did.

    >>> list(undone("I have sent the mail.", [Call.of({"tool": "send_mail", "success": False}, "")], ""))
    ["The answer says 'I have sent', but the call did not succeed (send)."]
    """
    said = (claim for sentence in _SENTENCES.split(answer) for claim in _claims(sentence))
    claims = list(itertools.islice(said, _CLAIMS))
    if not claims:
        return
    told = {verb for call in calls for _, _, verb, _ in kit.deeds_in(whole(call.text[:20_000]))}
    asked = set(kit.meanings(whole(question[:2_000])))
    acted = [call for call in calls if call.is_done and call.may_act]
    # A call that no claim names may have done one of them under another name.
    spare = [call for call in acted if not any(one.is_of(call) or one.opposes(call) for one in claims)]
    for claim in claims:
        same = [call for call in calls if claim.is_of(call)]
        done = [call for call in same if call.is_done and (call.may_act or claim.kind != "own")]
        failed = [call for call in calls if not call.is_done]
        # If every call that may act failed, nothing was done under any name.
        tried = any(call in same or (call.may_act and not acted and claim.kind != "told") for call in failed)
        if done:
            yield from _missing(claim, done, [call for call in failed if call in same], calls)
        elif claim.kind != "own" and claim.verb in told:
            continue
        elif tried:
            yield f"The answer says {claim.said!r}, but the call did not succeed ({claim.verb})."
        elif claim.kind == "own" or (claim.kind == "perfect" and claim.means & asked):
            kind = _DELETES & claim.means
            under = next((call for call in spare if call.does is None or _DELETES & call.does == kind), None)
            spare = [call for call in spare if call is not under]
            if under is None and not (claim.verb in _CALLING and any(call.is_done for call in calls)):
                yield f"The answer says {claim.said!r}, but no call did that ({claim.verb})."


def _missing(claim: _Claim, done: list[Call], failed: list[Call], calls: Sequence[Call]) -> Iterator[str]:
    """A sentence about the first object of a claim that was not part of a call that succeeded."""
    reached = {target for call in done for target in call.targets}
    left = [call for call in failed if not call.targets <= reached]
    low = claim.clause.lower()
    for target in sorted({target for call in left for target in call.targets} - reached):
        if re.search(rf"(?<![A-Za-z0-9_]){re.escape(target)}(?![A-Za-z0-9_])", low):
            yield f"The answer says {claim.said!r}, but the call for {target!r} did not succeed ({claim.verb})."
            return
    words = [(found[1] or "").lower() for found in _EVERY.finditer(claim.clause)] if left else []
    named = {*left[0].means, "was", "were", "have"} if left else set[str]()
    if any(not word or {word, *kit.meanings(word)} & named for word in words):
        counts = f"{len(done)} of {len(done) + len(left)}"
        yield f"The answer says {claim.said!r}, but only {counts} calls succeeded ({claim.verb})."
        return
    # Where calls name their objects by file or address, each one that the answer names needs a call. A person may be known
    # by another call, and an address may begin as a name does.
    kinds = {_kind(one) for target in reached for one in references_of(target)}
    people = [
        one for one in _TO.findall(claim.clause) if one[0].lower() not in {target[0] for target in reached}
    ]
    for one, where in (
        *((one, done) for one in references_of(claim.clause)),
        *((one, calls) for one in people),
    ):
        if _kind(one) in kinds and not any(one.lower() in call.text for call in where):
            yield f"The answer says {claim.said!r}, but no call did that ({claim.verb})."
            return


def _kind(reference: str) -> str:
    return "mail" if "@" in reference or reference.isalpha() else "url" if "://" in reference else "file"


def _claims(sentence: str) -> Iterator[_Claim]:
    last: tuple[int, str] | None = None
    for start, end, verb, means in kit.deeds_in(whole(sentence)):
        if sentence[start].isascii():
            kind, said = _english(sentence, start, end, last)
            clause = sentence[start if kind == "own" else max(0, start - _NEAR) : end + 5 * _NEAR]
            last = (end, kind) if kind else None
        else:
            kind, said, clause = _chinese(sentence, start, end)
        if kind:
            sides = set(kit.meanings(whole(sentence[start : end + 40])))
            yield _Claim(said, verb, set(means), _until_denied(clause), sides, kind)
    if found := _NOUN.match(sentence):
        yield _Claim(found[0], found[1].lower(), set(kit.meanings(found[1])), sentence, set(), "told")


def _english(sentence: str, start: int, end: int, last: tuple[int, str] | None) -> tuple[str, str]:
    """The kind of an English claim (empty if it is none), and how it is said."""
    left = max(0, start - _NEAR)
    before, after = sentence[left:start], sentence[end : end + _NEAR]
    if _NOT.search(re.split(r"[,;] ", before)[-1]) or re.match(r" (?:that|whether)\b", after):
        return "", ""
    if last is not None and re.match(r" (?:it|them)\b", after):
        return "", ""  # a second word for the deed before it: "created the file and saved it"
    if last is not None and last[0] >= left and _JOINED.search(before, last[0] - left):
        return last[1], sentence[last[0] : end].lstrip(", ")
    for kind, pattern in (("own", _OWN), ("perfect", _PERFECT), ("told", _TOLD)):
        if found := pattern.search(before):
            return kind, sentence[left + found.start() : end].strip()
    ends = re.match(r",? (?:successfully|as requested)\b|[.!]*$", after) and len(before.split()) < 4
    return ("told", sentence[left:end].strip()) if ends else ("", "")


def _chinese(sentence: str, start: int, end: int) -> tuple[str, str, str]:
    """The kind of a Chinese claim (empty if it is none), how it is said, and its clause."""
    ends = (found.end() for found in _CLAUSES_ZH.finditer(sentence, max(0, start - _NEAR), start))
    begin = max(ends, default=max(0, start - _NEAR))
    before, after = sentence[begin:start], _CLAUSES_ZH.split(sentence[end : end + _NEAR])[0]
    denied = _NOT_ZH.search(before) or re.match("[的不未]", after) or "失败" in after or after.endswith("吗")
    if denied or not (_DONE_ZH.search(before) or _DONE_AFTER_ZH.match(after)):
        return "", "", ""
    kind = "own" if _OWN_ZH.search(before) else "perfect"
    return kind, sentence[max(begin, start - 20) : end].strip(), sentence[begin : end + 5 * _NEAR]


def _until_denied(clause: str) -> str:
    """A clause up to the part that says what did not work."""
    first, *rest = re.split("(?<=[,，;；])", clause)
    denied = (at for at, part in enumerate(rest) if _NOT.search(part) or _NOT_ZH.search(part))
    return "".join((first, *rest[: next(denied, len(rest))]))
