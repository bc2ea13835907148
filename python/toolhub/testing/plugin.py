"""The pytest plugin: the fixture `toolhub_cassette`, and `--block-network`. pytest loads it by itself."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from .cassettes import CassetteError, record, replay
from .network import block_network

_MODES = ("none", "once", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line and of the configuration file."""
    group = parser.getgroup("toolhub")
    group.addoption(
        "--toolhub-record",
        nargs="?",
        const="once",
        choices=_MODES,
        help="record cassettes: 'once' those that are missing (the default of the option), 'all' of them, 'none'",
    )
    group.addoption(
        "--block-network",
        nargs="?",
        const="all",
        choices=("all", "remote"),
        help="refuse connections: 'all' (the default of the option), or only those to other machines ('remote')",
    )
    parser.addini("toolhub_record_mode", "none, once or all; --toolhub-record comes first", default="none")


def pytest_configure(config: pytest.Config) -> None:
    """Refuses a wrong mode, and knows the marker."""
    config.addinivalue_line("markers", "toolhub_replay(mode): how the cassette of a test is replayed; strict")
    if config.getini("toolhub_record_mode") not in _MODES:
        raise pytest.UsageError(f"toolhub_record_mode must be one of {', '.join(_MODES)}")


@pytest.fixture(autouse=True)
def _toolhub_network(request: pytest.FixtureRequest) -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    blocked = request.config.getoption("--block-network")
    if blocked is None:
        yield
        return
    with block_network(allow_loopback=blocked == "remote"):
        yield


@pytest.fixture
def toolhub_cassette(request: pytest.FixtureRequest) -> Generator[Path]:
    """Replay the calls of this test from `cassettes/` beside its file, or record them if pytest was asked to.

    A cassette that is missing fails the test, unless `--toolhub-record` or `toolhub_record_mode` says `once` or `all`. With
    the environment variable `CI` nothing is recorded that `--toolhub-record` does not ask for.
    """
    path = cassette_path(request.node.path, request.node.name)
    asked = request.config.getoption("--toolhub-record")
    mode = asked or ("none" if os.environ.get("CI") else request.config.getini("toolhub_record_mode"))
    if mode == "all" or (mode == "once" and not path.exists()):
        with record(path):
            yield path
        return
    if not path.exists():
        pytest.fail(f"There is no cassette '{path}'; record it with: pytest --toolhub-record", pytrace=False)
    marker = request.node.get_closest_marker("toolhub_replay")
    try:
        tape = replay(path, marker.args[0] if marker and marker.args else "strict").__enter__()
    except CassetteError as error:
        pytest.fail(str(error), pytrace=False)
    yield path
    tape.__exit__(None, None, None)


def cassette_path(test: Path, name: str) -> Path:
    """The cassette of a test: `cassettes/test_file.test_name.ndjson`, with `_` for what a file name cannot have."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    return test.parent / "cassettes" / f"{test.stem}.{safe}.ndjson"
