"""Search among 1,000, 10,000 and 100,000 tools, beside tantivy, bm25s, FTS5, rank_bm25, toolregistry, FastMCP."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Group, Row, measure_sync

from toolhub import ToolHub

SIZES = (1_000, 10_000, 100_000)
QUERY = "Can you please create an invoice for the customer and send it by mail?"
_WORDS = """
    create list get update delete send search file user project issue ticket invoice customer order message channel
    calendar event report table query image video page document server backup price weather city route account payment mail
    the of a for with
"""
COMMON = _WORDS.split()
Texts = list[tuple[str, str]]
Look = Callable[[], Any]


def texts(count: int) -> Texts:
    """Names and descriptions, of words that are harder than those of real tools: 41 of them stand in every third text."""
    chance = random.Random(7)

    def word() -> str:
        if chance.random() < 0.67:
            return chance.choice(COMMON)
        return (
            f"{chance.choice(('re', 'con', 'pla', 'sto'))}{int(20_000 * chance.random() ** 3):x}".translate(
                str.maketrans("0123456789", "ghijklmnop")
            )
        )

    return [(f"{word()}_{word()}_{number}", " ".join(word() for _ in range(25))) for number in range(count)]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def with_toolhub(tools: Texts) -> Look:
    hub = ToolHub()
    for name, description in tools:
        hub.register(
            words, name=name, description=description, parameters={"type": "object"}, capabilities=[]
        )
    return lambda: hub.search(QUERY, 10)


def with_fts5(tools: Texts) -> Look:
    store = sqlite3.connect(":memory:")
    store.execute("create virtual table tools using fts5(name, description, tokenize='porter unicode61')")
    store.executemany("insert into tools values (?, ?)", tools)
    match = " OR ".join(words(QUERY))
    ask = "select name from tools where tools match ? order by bm25(tools, 2.0, 1.0) limit 10"
    return lambda: store.execute(ask, (match,)).fetchall()


def with_bm25s(tools: Texts) -> Look:
    import bm25s  # pyright: ignore[reportMissingImports]

    index = bm25s.BM25()
    index.index([words(f"{name} {text}") for name, text in tools], show_progress=False)
    return lambda: index.retrieve([words(QUERY)], k=10, show_progress=False)


def with_tantivy(tools: Texts) -> Look:
    import tantivy  # pyright: ignore[reportMissingImports]

    shape = tantivy.SchemaBuilder()
    shape.add_text_field("name", stored=True, tokenizer_name="en_stem")
    shape.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(shape.build())
    writer = index.writer(num_threads=1)
    for name, text in tools:
        writer.add_document(tantivy.Document(name=[name], text=[text]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def look() -> list[str]:
        query = index.parse_query(" ".join(words(QUERY)), ["name", "text"], field_boosts={"name": 2.0})
        return [searcher.doc(place)["name"][0] for _, place in searcher.search(query, 10).hits]

    return look


def with_rank_bm25(tools: Texts) -> Look:
    from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingImports]

    index = BM25Okapi([words(f"{name} {text}") for name, text in tools])
    names = [name for name, _ in tools]
    return lambda: index.get_top_n(words(QUERY), names, 10)


def with_fastmcp(tools: Texts) -> Look:
    from fastmcp.server.transforms.search.bm25 import _BM25Index  # pyright: ignore

    index = _BM25Index()
    index.build([f"{name} {text}" for name, text in tools])
    return lambda: index.query(QUERY, 10)


def with_toolregistry(tools: Texts) -> Look:
    from toolregistry._vendor.sparse_search import SparseIndex  # pyright: ignore

    index: Any = SparseIndex(field_weights={"name": 2.0, "description": 1.0})
    for number, (name, description) in enumerate(tools):
        index.add(str(number), {"name": name.replace("_", " "), "description": description})
    return lambda: index.search(QUERY, top_k=10)


MAKERS: dict[str, Callable[[Texts], Look]] = {
    "tantivy": with_tantivy,
    "bm25s": with_bm25s,
    "FTS5": with_fts5,
    "rank_bm25": with_rank_bm25,
    "toolregistry": with_toolregistry,
    "FastMCP": with_fastmcp,
    "toolhub": with_toolhub,
}


def run(rounds: int) -> list[Row]:
    rows: list[Row] = []
    for size in SIZES:
        tools = texts(size)
        looks: dict[str, Look] = {}
        for name, make in MAKERS.items():
            try:
                looks[name] = make(tools)
            except ImportError:
                print(f"({name} is not installed)")
        # The goal for 100,000 tools is what tantivy takes for this; that of the build is a fourth of bm25s.
        large = size == SIZES[-1]
        query = Group(f"one query, {size:,} tools", goal=1.0 if large and "tantivy" in looks else None)
        for name, look in looks.items():
            query.add(name, look, 5)
        rows += measure_sync(query, 3 if large else min(rounds, 11))
        build = Group(
            f"build, {size:,} tools",
            goal=0.25 if large and "bm25s" in looks else None,
            note="toolhub: the first search after registration; the others from names and descriptions",
        )
        for name in sorted(looks, key=lambda name: name != "bm25s"):
            if name == "toolhub":
                build.add(name, _first_search(tools), 1)
            else:
                build.add(name, partial(MAKERS[name], tools), 1)
        rows += measure_sync(build, 1 if large else 3)
    return rows


def _first_search(tools: Texts) -> Look:
    """Fills a new hub for each measurement, outside of what is measured."""
    hubs = [with_toolhub(tools) for _ in range(4)]
    return lambda: hubs.pop()()
