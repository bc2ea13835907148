"""How well `hub.search` finds the tools that queries are for: `make eval`.

    python benches/python/retrieval.py [dev folder] [--sets metatool,bfcl] [--embed]

The folder has a set a folder: `tools.jsonl` (`id`, `name`, `description`, `parameters`, perhaps `category`) and
`queries.jsonl` (`id`, `query`, `relevant`: ids of tools). Without an argument it is `retrieval/dev` under TOOLHUB_DATA, or
under `../shared/data`.

With `--embed` a small model of static word vectors (wordllama, English, its weights are in its wheel) is mixed in.

R@5: share of the wanted tools among the first five hits; NDCG@10: the usual gain of the first ten; hit@1: how often the
first hit is wanted. Weights were chosen
on one half of the queries (by a hash of their ids); the other half shows whether that was more than luck.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from toolhub import ToolHub

ROOT = Path(__file__).resolve().parents[2]
Figures = tuple[float, float, float]


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines() if line.strip()]


def small_model() -> Callable[[list[str]], list[Any]]:
    """No opinion of texts that are not in ASCII: the model knows English."""
    import wordllama  # pyright: ignore[reportMissingImports]
    from wordllama import WordLlama  # pyright: ignore[reportMissingImports]

    # Its weights and its tokenizer are beside it; it would look for the latter elsewhere.
    model: Any = WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def embed(texts: list[str]) -> list[Any]:
        vectors = model.embed(texts)
        return [vector if text.isascii() else None for vector, text in zip(vectors, texts, strict=True)]

    return embed


def filled_hub(
    tools: Iterable[dict[str, Any]], embed: Callable[[list[str]], list[Any]] | None = None
) -> tuple[ToolHub, dict[str, str]]:
    """A hub with these tools, and the id of each name. A name that is there twice gets a number."""
    hub, ids = ToolHub(embed=embed), {}
    for tool in tools:
        name, n = tool["name"], 2
        while name in ids:
            name, n = f"{tool['name']}_{n}", n + 1
        ids[name] = tool["id"]
        hub.register(
            lambda **_: None,
            name=name,
            description=tool["description"] or "",
            parameters=tool.get("parameters") or {"type": "object", "properties": {}},
            category=tool.get("category"),
        )
    return hub, ids


def is_tuned(query_id: str) -> bool:
    """Whether a query is in the half on which weights were chosen (FNV-1a)."""
    value = 2166136261
    for byte in query_id.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value >> 7 & 1 == 0


def figures(ranked: list[str], wanted: set[str]) -> Figures:
    found = len(wanted.intersection(ranked[:5])) / len(wanted)
    gain = sum(1 / math.log2(place + 2) for place, tool in enumerate(ranked[:10]) if tool in wanted)
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    return found, gain / best, float(bool(wanted.intersection(ranked[:1])))


def averages(all_figures: list[Figures]) -> Figures:
    recalls, gains, firsts = (sum(column) / len(column) for column in zip(*all_figures, strict=True))
    return recalls, gains, firsts


def mean(all_figures: Iterable[Figures]) -> Figures:
    recalls, gains, firsts = averages(list(all_figures))
    return 100 * recalls, 100 * gains, 100 * firsts


def shown(figures: Figures) -> str:
    return f"{figures[0]:5.1f} / {figures[1]:4.1f} / {figures[2]:4.1f}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("TOOLHUB_DATA")
    usual = (Path(data) if data else ROOT.parent / "shared" / "data") / "retrieval" / "dev"
    parser.add_argument("folder", nargs="?", type=Path, default=usual)
    parser.add_argument("--sets", help="only these, with commas between")
    parser.add_argument("--embed", action="store_true", help="mix in a small embedding model")
    given = parser.parse_args(arguments)
    if not given.folder.is_dir():
        print(f"No data at {given.folder}: give the folder as argument, or the data folder as TOOLHUB_DATA.")
        return 0
    embed = small_model() if given.embed else None
    wanted = given.sets.split(",") if given.sets else None
    print(
        f"{'R@5/NDCG@10/hit@1':17} {'tools':>5} {'queries':>7}   {'tuned half':19}  {'other half':19}  {'all':19} µs a query"
    )
    sets: list[list[Figures]] = []
    for folder in sorted(given.folder.iterdir()):
        if (wanted and folder.name not in wanted) or not (folder / "queries.jsonl").is_file():
            continue
        tools, queries = rows(folder / "tools.jsonl"), rows(folder / "queries.jsonl")
        hub, ids = filled_hub(tools, embed)
        hub.search("anything")  # the first search reads the tools
        begun = time.perf_counter()
        ranked = [[ids[hit.name] for hit in hub.search(query["query"], 10)] for query in queries]
        micros = (time.perf_counter() - begun) / len(queries) * 1e6
        scored = [
            (is_tuned(query["id"]), figures(found, set(query["relevant"])))
            for query, found in zip(queries, ranked, strict=True)
        ]
        parts = [mean(one for half, one in scored if half is which) for which in (True, False)]
        parts.append(mean(one for _, one in scored))
        sets.append(parts)
        print(
            f"{folder.name:16} {len(tools):6} {len(queries):7}   {'  '.join(shown(part) for part in parts)} {micros:10.0f}"
        )
    if sets:
        parts = [[part[which] for part in sets] for which in range(3)]
        means = "  ".join(shown(averages(part)) for part in parts)
        print(f"{'mean':16} {'':6} {'':7}   {means}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
