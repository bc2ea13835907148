"""Any replica serves any request of a session. `make replicas` does the same with 10,000 sessions."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "mcp"))
import replicas


def test_sessions_work_over_replicas_that_share_a_key() -> None:
    assert replicas.run(40) == []
