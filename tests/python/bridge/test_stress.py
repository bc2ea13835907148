"""Everything at once, under Python's development mode: nothing is left and nothing complains."""

import json

import pytest

from bridge.kit import finish, script


@pytest.mark.parametrize("seed", ["1", "2"])
def test_threads_loops_cancellations_and_tools_of_all_kinds(seed: str) -> None:
    # Slow callbacks are the machine's, not ours; everything else on stderr is a complaint.
    ended = finish(script("stress", seed, options=("-X", "dev", "-W", "error")))
    noise = [line for line in ended.err.splitlines() if not line.startswith("Executing <")]
    assert (ended.status, noise) == (0, [])
    report = json.loads(ended.out)
    # The callers of three lives in each of six threads, and ten blocking calls after each life.
    assert report.pop("calls") == 6 * 3 * (40 + 10)
    # Successes, failures, cancellations, outer timeouts and calls that were quicker than their cancellation.
    assert report.pop("endings") >= 4
    assert report == {
        "complaints": [],
        "background": [1, 0, 0],
        "workers are idle": True,
        "lost": 0,
        "still answers": "quick",
    }
