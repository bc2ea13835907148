"""An embedding of the user's joins the words."""

import logging
import threading
from collections.abc import Callable

import pytest

from toolhub import ToolHub
from toolhub.hub import _search

TOPICS = {
    "rain": 0,
    "weather": 0,
    "umbrella": 0,
    "money": 1,
    "invoice": 1,
    "pay": 1,
    "picture": 2,
    "photo": 2,
}


def by_topic(texts: list[str]) -> list[list[float] | None]:
    """A small embedding: how often each topic is spoken of, and no opinion where none is."""
    vectors: list[list[float] | None] = []
    for text in texts:
        vector = [0.0] * 3
        for word, topic in TOPICS.items():
            vector[topic] += text.lower().count(word)
        vectors.append(vector if any(vector) else None)
    return vectors


def filled(hub: ToolHub) -> ToolHub:
    hub.register(len, name="getForecast", description="Weather of tomorrow.")
    hub.register(len, name="bill", description="Writes an invoice.")
    hub.register(len, name="shrink", description="Makes a photo smaller.")
    hub.register(len, name="umbrella_stand", description="Furniture.")
    return hub


def names(hub: ToolHub, query: str, k: int = 10) -> list[str]:
    return [hit.name for hit in hub.search(query, k)]


def test_meaning_finds_what_words_do_not():
    assert "getForecast" not in names(filled(ToolHub()), "do I need an umbrella?")
    found = names(filled(ToolHub(embed=by_topic)), "do I need an umbrella?")
    assert set(found[:2]) == {"getForecast", "umbrella_stand"}


def test_no_more_than_k_hits_and_a_scale_from_0_to_1():
    hub = filled(ToolHub(embed=by_topic))
    hits = hub.search("rain and weather, money and pay", 2)
    assert len(hits) == 2
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert hub.search("rain", 0) == []
    assert hub.search("   ") == []


def test_each_tool_is_embedded_once_and_again_when_it_changes():
    asked: list[str] = []

    def watched(texts: list[str]) -> list[list[float] | None]:
        asked.extend(texts)
        return by_topic(texts)

    hub = filled(ToolHub(embed=watched))
    hub.search("rain")
    assert len(asked) == 5
    assert asked[-1] == "rain"
    assert asked[0].startswith("get forecast ")
    hub.search("rain")
    assert len(asked) == 6
    hub.register(len, name="bill", description="Takes a picture.")
    assert names(hub, "photo")[0] in {"bill", "shrink"}
    assert [text for text in asked[6:] if text != "photo"] == ["bill Takes a picture."]


def test_a_query_without_an_opinion_goes_by_words():
    plain, with_embedding = filled(ToolHub()), filled(ToolHub(embed=by_topic))
    query = "furniture for tomorrow"
    assert names(with_embedding, query) == names(plain, query)


def broken(texts: list[str]) -> list[list[float]]:
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    ("embed", "logged"),
    [
        (broken, "RuntimeError: no model"),
        (lambda texts: [[1.0]] * (len(texts) + 1), "one vector per text, got"),
        (lambda texts: ["abc"] * len(texts), "could not convert"),
        (lambda texts: None, "TypeError"),
    ],
)
def test_a_failing_embedding_is_reported_once_and_words_decide(embed, logged, caplog):
    hub = filled(ToolHub(embed=embed))
    with caplog.at_level(logging.WARNING, "toolhub.search"):
        assert names(hub, "weather")[0] == "getForecast"
        assert names(hub, "weather")[0] == "getForecast"
    (record,) = caplog.records
    assert logged in record.getMessage()


@pytest.mark.parametrize("odd", [[], [0.0, 0.0, 0.0], [float("nan")] * 3, [1.0] * 7])
def test_odd_vectors_are_no_opinion(odd):
    hub = filled(
        ToolHub(embed=lambda texts: [odd if text == "weather" else [1.0, 2.0, 3.0] for text in texts])
    )
    assert names(hub, "weather") == names(filled(ToolHub()), "weather")


async def coroutine(texts: list[str]) -> list[list[float]]:
    return []


@pytest.mark.parametrize("embed", [coroutine, "model", 5])
def test_what_is_no_plain_function_is_refused(embed):
    with pytest.raises(TypeError, match="embed must be a plain function"):
        ToolHub(embed=embed)


def test_recommendations_and_prompts_go_by_it_too():
    hub = filled(ToolHub(embed=by_topic))
    query = "do I need an umbrella?"
    assert "getForecast" in [hit.name for hit in hub.recommend(query)]
    assert "**getForecast**" in hub.system_prompt(query=query, limit=2)


def test_the_weight_decides_between_words_and_meaning():
    words = filled(ToolHub(embed=by_topic, limits={"embed_weight": 0}))
    meaning = filled(ToolHub(embed=by_topic, limits={"embed_weight": 1}))
    assert names(words, "furniture in the picture")[0] == "umbrella_stand"
    assert names(meaning, "furniture in the picture")[0] == "shrink"
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="embed_weight must be from 0"):
            ToolHub(embed=by_topic, limits={"embed_weight": wrong})


class SlowModel:
    """An embedding that goes on with the next texts when it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.steps = threading.Semaphore(0)
        self.done = threading.Semaphore(0)
        self.threads: set[threading.Thread] = set()

    def __call__(self, texts: list[str]) -> list[list[float] | None]:
        self.threads.add(threading.current_thread())
        self.batches.append(texts)
        assert self.steps.acquire(timeout=60)
        self.done.release()
        return by_topic(texts)

    def step(self, times: int = 1) -> None:
        """Let it answer so often."""
        for _ in range(times):
            self.steps.release()
            assert self.done.acquire(timeout=60)

    def is_idle(self) -> bool:
        """Whether the hub has all that it answered."""
        return not any(thread.is_alive() for thread in list(self.threads))


def until(is_true: Callable[[], bool]) -> None:
    """Wait for what happens soon."""
    pause = threading.Event()
    for _ in range(6000):
        if is_true():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_slow_model_works_in_the_background_and_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(_search, "_PATIENCE", 0.05)
    model = SlowModel()
    hub = filled(ToolHub(embed=model))
    for number in range(96):
        hub.register(len, name=f"other_{number}", description="Nothing.")
    plain, query = names(filled(ToolHub()), "umbrella"), "umbrella"
    for _ in range(5):
        assert names(hub, query) == plain, "words decide meanwhile"
    # The model goes on though nobody waits for it, in small batches.
    model.step(4)
    until(model.is_idle)
    assert [len(batch) for batch in model.batches] == [32, 32, 32, 4]
    assert len({text for batch in model.batches for text in batch}) == 100
    # The vector of the query comes late, too, and serves the next search.
    assert names(hub, query) == plain
    until(lambda: model.batches[-1] == [query])
    model.step()
    until(model.is_idle)
    assert "getForecast" in names(hub, query)
    assert len(model.batches) == 5, "no tool was embedded twice"


def test_what_was_embedded_before_a_failure_counts(monkeypatch):
    asked: list[int] = []

    def fails_once(texts: list[str]) -> list[list[float] | None]:
        asked.append(len(texts))
        if len(asked) == 2:
            raise RuntimeError("no model")
        return by_topic(texts)

    hub = filled(ToolHub(embed=fails_once))
    for number in range(60):
        hub.register(len, name=f"other_{number}", description="Nothing.")
    hub.search("umbrella")
    hub.search("umbrella")
    assert asked == [32, 32, 32, 1]
