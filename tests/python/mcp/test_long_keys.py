"""A very long key is hidden like any other, in time that grows with its length."""

import sys

import pytest

from toolhub import ToolHub

# It writes its key, or a part of it, to stderr and ends.
SERVER = (
    "import os, sys; sys.stderr.write('refused: ' + os.environ['API_KEY'][:int(sys.argv[1])]); sys.exit(1)"
)


@pytest.mark.anyio
@pytest.mark.timeout(60)
@pytest.mark.parametrize("length", [120_000, 60_000])
@pytest.mark.parametrize(
    "key", ["a" * 120_000, ("0123456789abcdef" * 7 + "x") * 1_000], ids=["one letter", "many"]
)
async def test_a_very_long_key_is_hidden(key: str, length: int) -> None:
    async with ToolHub() as hub:
        hub.add_server("s", command=sys.executable, args=["-c", SERVER, str(length)], env={"API_KEY": key})
        report = await hub.connect()
    [why] = report.failed.values()
    assert "refused: ***" in str(why)
    assert key[:20] not in str(why)
