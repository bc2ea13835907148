"""Generated examples: the same in every `make test`, new ones in `make fuzz`."""

from __future__ import annotations

from hypothesis import settings


def test_examples_are_the_same_on_every_machine() -> None:
    assert settings.get_profile("toolhub").derandomize
    assert not settings.get_profile("fuzz").derandomize
