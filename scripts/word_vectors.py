"""Makes `python/toolhub/data/words_en.bin.gz`, the word vectors with which search compares what texts are about.

    pip install numpy snowballstemmer wordfreq wordllama==0.4.0.post1
    python scripts/word_vectors.py

The words are the most frequent English ones of wordfreq, a form for each stem, without the stop words of search. The vector of
a word is the mean of its tokens in wordllama, whose weights are in its wheel: the file is a table of words, and no model runs
in search. The mean of all words is taken out; what is left is reduced to 128 values of four bits. The format is described
in `src/search/word_vectors.rs`.
"""

from __future__ import annotations

import gzip
import re
import struct
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "python" / "toolhub" / "data" / "words_en.bin.gz"
WORDS = 9_000
# Forms that are looked at to find as many stems.
FORMS = 24_000
DIMENSIONS = 128
# A word of this share of all words counts half (smooth inverse frequency).
HALF = 1e-3
# Values beyond this quantile are cut to it.
CUT = 0.995
MOST = 7


def stop_words() -> set[str]:
    """Those of the core."""
    source = (ROOT / "src" / "search" / "stop.rs").read_text("utf8")
    found = re.search(r'ENGLISH: &str = "(.*?)";', source, re.DOTALL)
    assert found is not None
    return set(found[1].replace("\\\n", " ").split())


def frequent_words() -> dict[str, str]:
    """The stems of the most frequent words, each with its most frequent form."""
    import snowballstemmer  # pyright: ignore[reportMissingImports]
    from wordfreq import top_n_list  # pyright: ignore[reportMissingImports]

    stemmer: Any = snowballstemmer.stemmer("english")
    stops, found = stop_words(), dict[str, str]()
    forms = [word for word in top_n_list("en", 90_000) if re.fullmatch("[a-z]{2,}", word)][:FORMS]
    for word in forms:
        stem = stemmer.stemWord(word)
        if not {word, stem} & stops:
            found.setdefault(stem, word)
    return dict(list(found.items())[:WORDS])


def embedded(words: list[str]) -> Any:
    """The vectors of words, as long as the model makes them."""
    import wordllama  # pyright: ignore[reportMissingImports]
    from wordllama import WordLlama  # pyright: ignore[reportMissingImports]

    # Its weights and its tokenizer are beside it; it would look for the latter elsewhere.
    model: Any = WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return model.embed(words, norm=False)


def reduced(vectors: Any) -> Any:
    """Unit vectors along the strongest directions, without the mean of all."""
    import numpy as np  # pyright: ignore[reportMissingImports]

    vectors = vectors - vectors.mean(0)
    kept = vectors @ np.linalg.svd(vectors, full_matrices=False)[2][:DIMENSIONS].T
    return kept / np.linalg.norm(kept, axis=1, keepdims=True)


def main() -> None:
    """Embeds the words and writes the file."""
    import numpy as np  # pyright: ignore[reportMissingImports]
    from wordfreq import word_frequency  # pyright: ignore[reportMissingImports]

    words = frequent_words()
    vectors = reduced(embedded(list(words.values())))
    scaled = np.round(vectors / np.quantile(np.abs(vectors), CUT) * MOST).clip(-MOST, MOST).astype(np.int8)
    halves = (scaled + 8).astype(np.uint8)
    packed = halves[:, 0::2] | halves[:, 1::2] << 4
    weights = [round(255 * HALF / (HALF + word_frequency(word, "en"))) for word in words.values()]
    stems = "".join(f"{stem}\n" for stem in words).encode()
    content = struct.pack("<H", len(words)) + stems + bytes(weights) + packed.tobytes()
    OUT.write_bytes(gzip.compress(content, 9, mtime=0))
    print(f"{len(words)} words, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
