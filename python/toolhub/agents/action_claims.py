"""Deeds: what an answer says was done ("I sent …", "已发送"), and whether a successful call of a tool with that verb did it.

The verbs are those by which the hub judges the names of tools. Nothing is said where a call may have done it under another
name: right, or silent.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from .. import kit
from ..kit import Message, in_digits, whole, words
from .facts import references_of
from .number_sources import parts

_TARGETS, _CLAIMS = 50, 200
_NEAR = 200
"""Characters around a verb that are read, so that a sentence without an end costs no more than others."""

_CALLING = {"call", "run", "execute", "invoke", "open", "request", "report"}
"""Whoever calls any tool, also one that reads, may say this of it."""

_ANYTHING = {"sql", "statement", "method", "command", "code"}
"""Parameters of tools that do whatever they are told."""

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
_ENDS = re.compile(r"(?: on| off)?(?:,? (?:successfully|as requested)\b|[.!]*$)")
_NOUN = re.compile(r"\W*(?:the |your )?(\w+) (?:is |was )?(?:made|done|complete|successful)[.!]*$", re.I)
_NOT = re.compile(
    r"(?i)\b(?:not|never|no|none|nothing|nobody|unable|cannot|failed|without|if|once|until|unless|when|before|after)\b|n['’]t\b"
)
_NOT_ZH = re.compile("没|未|无法|不|失败|尚|如果|是否|请|需要|可以|准备|正在")
_OWN_ZH = re.compile(r"我|^\W*(?:已经?)?[为帮给][您你]")
_CLAUSES_ZH = re.compile("[，,；;。！？!?\n]")
_SENTENCES = re.compile(
    r"(?<=[.!?])(?<!\b[DMS][rst]\.)(?<!\bMrs\.) |[,;] (?i:but|while|although|though) | but |，但是?|(?<=[。！？；;\n])"
)
_EVERY = re.compile(r"(?i)\b(?:all|both|each|every)\b(?: of| the| your| \d+)*(?: (\w+))?|[都均]|全部|所有")
# Not "2 of 3", and not 3个中的2个.
_COUNT = re.compile(r"(?<![\d.,])(?<!\bof )(?<!\bof the )\b\d{1,4}(?![\d.,:]*\d|[^\d，。]{0,3}[中里])", re.A)


class Call(NamedTuple):
    """A call that was made."""

    means: set[str]
    """What the words of its name mean, and of an argument such as `action="send"`."""
    does: set[str] | None
    """What the acting verb of its name means; None if it may act all the same."""
    sides: set[tuple[int, bool]]
    """Of which pairs of opposites it did which: on or off, by its name or by an argument."""
    about: set[str]
    """What the other words of its name mean."""
    is_done: bool
    may_act: bool
    given: list[str]
    """Its arguments that are short."""
    text: str
    """Its name, its arguments and its result."""

    @property
    def targets(self) -> set[str]:
        """What it may be for: the whole of its arguments, and the last part of paths."""
        return {part for one in self.given for part in (one.lower(), one.lower().rpartition("/")[2]) if part}

    @classmethod
    def of(cls, record: Mapping[str, Any], text: str) -> "Call":
        """The call of a record; a record without a tool is a text that reads like a result."""
        tool = whole(str(record.get("tool") or "")[:200])
        values = [one for one in parts(record.get("arguments")) if isinstance(one, (str, int))][:_TARGETS]
        texts = [str(one)[:200] for one in values if not isinstance(one, int) or abs(one) < 1e15]
        title = str(record.get("title") or "")[:200]
        name = " ".join((tool, title, *(one.lower() for one in texts if one.isalpha())))
        means, verb = set(kit.meanings(whole(name))), kit.acting_verb(tool) if tool else None
        given = record.get("arguments")
        names = set(cast("dict[str, Any]", given)) if isinstance(given, dict) else set[str]()
        does = None if verb == "" or _ANYTHING & names else set(kit.meanings(verb or ""))
        sides = set(kit.sides_of(verb or "", "_".join((*words(tool), *filter(str.isalpha, texts)))))
        about = set(kit.meanings(" ".join(one for one in words(tool) if one not in (verb, "on", "off"))))
        short = [one for one in texts if 0 < len(one) <= 60]
        # By its state, as in the ledger, or by its result.
        is_done = record.get("success", record.get("error") is None) is True
        is_done = record["state"] == "done" if record.get("state") is not None else is_done
        return cls(means, does, sides, about, is_done, verb is not None, short, f"{tool}\n{text}".lower())


Calls = Sequence[Call]


class _Claim(NamedTuple):
    said: str
    verb: str
    means: set[str]
    before: str
    word: str
    after: str
    """What is said of what it was done to, before the verb and after it."""
    kind: str
    """`own` (I sent it), `perfect` (it has been sent) or `told` (it was sent), which others may have done before."""
    sides: set[tuple[int, bool]]
    """Of which pairs of opposites it is which."""

    def opposes(self, call: Call) -> bool:
        """Whether the call did the contrary: on and off, lock and unlock."""
        contrary = {(pair, not side) for pair, side in self.sides}
        return bool(contrary & call.sides) and not self.sides & call.sides

    def is_about(self, call: Call) -> bool:
        """Whether the call may be for what this is about."""
        clause = set(kit.meanings(whole(self.before + self.after[:_NEAR])))
        return self.kind != "told" or not call.about or bool(call.about & clause)

    def is_of(self, call: Call) -> bool:
        """Whether the call was to do this. A noun in its name counts only for what the agent says of itself, on or off."""
        does = call.does if call.does is not None else set[str]() if self.kind == "told" else call.means
        does = call.means if self.kind == "own" or self.sides & call.sides else does
        return not self.opposes(call) and bool(self.means & does)


def undone(answer: str, calls: Calls, question: str) -> Iterator[str]:
    """Sentences about the deeds of an answer that no successful call did.

    >>> list(undone("I have sent the mail.", [Call.of({"tool": "send_mail", "success": False}, "")], ""))
    ["The answer says 'I have sent', but the call did not succeed (send)."]
    """
    said = (claim for sentence in _SENTENCES.split(answer) for claim in _claims(sentence))
    claims = list(itertools.islice(said, _CLAIMS))
    if not claims:
        return
    texts = (whole(call.text.partition("\n")[2][:20_000]) for call in calls)
    told = {verb for text in texts for _, _, verb, _ in kit.deeds_in(text)}
    asked = set(kit.meanings(whole(question[:2_000])))
    acted = [call for call in calls if call.is_done and call.may_act]
    # A call that no claim names may have done one of them under another name.
    spare = [call for call in acted if not any(one.is_of(call) or one.opposes(call) for one in claims)]
    # "It was off, so I turned it on": the answer tells of that call.
    deeds = ((verb, whole(answer[end : end + _NEAR])) for _, end, verb, _ in kit.deeds_in(whole(answer)))
    sides = {side for deed in deeds for side in kit.sides_of(*deed)}
    for claim in claims:
        same = [call for call in calls if claim.is_of(call)]
        done = [call for call in same if call.is_done and (call.may_act or claim.kind != "own")]
        failed = [call for call in calls if not call.is_done]
        # If every call that may act failed, nothing was done under any name.
        tried = any(call in same or (call.may_act and not acted and claim.kind != "told") for call in failed)
        problem = None
        if not done and (claim.kind == "own" or claim.verb not in told):
            if tried:
                problem = Message("but the call did not succeed")
            elif any(claim.opposes(one) and not one.sides & sides and claim.is_about(one) for one in acted):
                problem = Message("but a call did the contrary")
            elif claim.kind == "own" or (claim.kind == "perfect" and claim.means & asked):
                kind = _DELETES & claim.means
                done = [call for call in spare if call.does is None or _DELETES & call.does == kind][:1]
                spare = [call for call in spare if call not in done]
                if not done and not (claim.verb in _CALLING and any(call.is_done for call in calls)):
                    problem = Message("but no call did that")
        if done:
            problem = _missing(claim, done, [call for call in failed if call in same], calls, answer)
        if problem:
            yield Message("The answer says {}, {} ({}).", repr(claim.said), problem, claim.verb)


def _missing(claim: _Claim, done: Calls, failed: Calls, calls: Calls, answer: str) -> str | None:
    """What is wrong with the objects of a claim: one that was not part of a call that succeeded, or too many of them."""
    reached = {target for call in done for target in call.targets}
    left = [call for call in failed if not call.targets <= reached]
    clause = claim.before + claim.word + claim.after
    for target in sorted({target for call in left for target in call.targets} - reached):
        pattern = rf"(?<![A-Za-z0-9_]){re.escape(target)}(?![A-Za-z0-9_])"
        if len(target) > 1 and re.search(pattern, clause.lower()):
            return Message("but the call for {} did not succeed", repr(target))
    if left and _says_all(claim, len(done) + len(left), left[0]):
        return Message("but only {} of {} calls succeeded", len(done), len(done) + len(left))
    ours = set(map(id, done))
    others = [call for call in calls if call.is_done and id(call) not in ours]
    given = [value for call in done for value in call.given]
    known = "\n".join((*(call.text for call in done), *(one for call in others for one in call.targets)))
    # Where calls name their objects by file or address, each one that the answer names needs a call.
    kinds = {_kind(one) for value in given for one in references_of(value)}
    named = (one for one in references_of(clause) if _kind(one) in kinds and one.lower() not in known)
    elsewhere = "\n".join(call.text for call in others)
    name = next(named, None) or kit.unreached(whole(clause), whole(answer), given, known, elsewhere)
    return None if name is None else Message("but no call was for {}", repr(name))


def _kind(reference: str) -> str:
    return "mail" if "@" in reference else "url" if "://" in reference else "file"


def _says_all(claim: _Claim, number: int, call: Call) -> bool:
    """Whether a claim is about all of so many calls: "all files", "3 files"; not "2 of 3"."""
    before, after = in_digits(claim.before), in_digits(claim.after)
    words = [(found[1] or "").lower() for found in _EVERY.finditer(f"{before} {after}")]
    named = {*call.means, "was", "were", "have", "been", "them"}
    every = any(not word or {word, *kit.meanings(word)} & named for word in words)
    near = (*list(_COUNT.finditer(before))[-1:], *itertools.islice(_COUNT.finditer(after), 1))
    return every or any(int(one[0]) == number for one in near)


def _claims(sentence: str) -> Iterator[_Claim]:
    last: tuple[int, str] | None = None
    found: list[tuple[int, int, _Claim]] = []
    for start, end, verb, means in kit.deeds_in(whole(sentence)):
        if sentence[start].isascii():
            kind, said = _english(sentence, start, end, last)
            begin = start if kind == "own" else max(0, start - _NEAR)
            last = (end, kind) if kind else None
        else:
            kind, said, begin = _chinese(sentence, start, end)
        if kind and len(found) < _CLAIMS:
            # What an earlier verb was done to is not what this one was done to.
            begin = min(start, max(begin, found[-1][1] if found else 0))
            around = sentence[begin:start], sentence[start:end], ""
            found.append((begin, end, _Claim(said, verb, set(means), *around, kind, set())))
    for at, (_, end, claim) in enumerate(found):
        until = found[at + 1][0] if at + 1 < len(found) else end + 5 * _NEAR
        after = _until_denied(sentence[end:until])
        yield claim._replace(after=after, sides=set(kit.sides_of(claim.verb, whole(after[:_NEAR]))))
    if noun := _NOUN.match(sentence):
        yield _Claim(noun[0], noun[1].lower(), set(kit.meanings(noun[1])), "", "", "", "told", set())


def _english(sentence: str, start: int, end: int, last: tuple[int, str] | None) -> tuple[str, str]:
    """The kind of an English claim (empty if it is none), and how it is said."""
    left = max(0, start - _NEAR)
    before, after = sentence[left:start], sentence[end : end + _NEAR]
    # A second word for the deed before it: "created the file and saved it".
    again = last is not None and re.match(r" (?:it|them)\b", after)
    if again or _NOT.search(re.split(r"[,;] ", before)[-1]) or re.match(r" (?:that|whether)\b", after):
        return "", ""
    if last is not None and last[0] >= left and _JOINED.search(before, last[0] - left):
        return last[1], sentence[last[0] : end].lstrip(", ")
    for kind, pattern in (("own", _OWN), ("perfect", _PERFECT), ("told", _TOLD)):
        if found := pattern.search(before):
            return kind, sentence[left + found.start() : end].strip()
    ends = _ENDS.match(after) and len(before.split()) < 4
    return ("told", sentence[left:end].strip()) if ends else ("", "")


def _chinese(sentence: str, start: int, end: int) -> tuple[str, str, int]:
    """The kind of a Chinese claim (empty if it is none), how it is said, and where its clause begins."""
    ends = (found.end() for found in _CLAUSES_ZH.finditer(sentence, max(0, start - _NEAR), start))
    begin = max(ends, default=max(0, start - _NEAR))
    before, after = sentence[begin:start], _CLAUSES_ZH.split(sentence[end : end + _NEAR])[0]
    denied = _NOT_ZH.search(before) or re.match("[的不未]", after) or "失败" in after or after.endswith("吗")
    is_done = (
        re.search("已|成功|刚", before) or re.match("成功|完成|完毕", after) or sentence[end - 1] in "好完掉"
    )
    if denied or not (is_done or re.match("[^，]{0,12}了$|了", after)):
        return "", "", 0
    kind = "own" if _OWN_ZH.search(before) else "perfect" if is_done else "told"
    return kind, sentence[max(begin, start - 20) : end].strip(), begin


def _until_denied(clause: str) -> str:
    """A clause up to the part that says what did not work."""
    first, *rest = re.split("(?<=[,，;；])", clause)
    denied = (at for at, part in enumerate(rest) if _NOT.search(part) or _NOT_ZH.search(part))
    return "".join((first, *rest[: next(denied, len(rest))]))
