"""The pytest plugin: the fixture `toolhub_cassette`, and `--block-network`. pytest loads it by itself."""

import hashlib
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from .cassettes import CassetteError, record, replay
from .network import block_network

_RECORD = {"once": "those that are missing", "all": "all of them again", "none": "none"}
_BLOCK = {"all": "all of them", "remote": "those to other machines"}
_LONGEST = 60
"""Characters of a name. A file name may have 255 bytes, and a character takes up to four."""
_MODES = ("none", "once", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line and of the configuration file."""
    group = parser.getgroup("toolhub")
    for value, does in _RECORD.items():
        _add_choice(group, "--toolhub-record", value, f"record cassettes: {does}", plain="once")
    for value, does in _BLOCK.items():
        _add_choice(
            group, "--block-network", value, f"refuse connections of Python's sockets: {does}", plain="all"
        )
    parser.addini("toolhub_record_mode", "none, once or all; --toolhub-record comes first", default="none")


def _add_choice(group: pytest.OptionGroup, option: str, value: str, does: str, *, plain: str) -> None:
    """One value of an option. Each is a flag of its own, `--option=value`: a value that may be left out would take the path
    of the tests that follows it."""
    names = [option] if value == plain else []
    dest = option.removeprefix("--").replace("-", "_")
    group.addoption(*names, f"{option}={value}", dest=dest, action="store_const", const=value, help=does)


def pytest_configure(config: pytest.Config) -> None:
    """Refuses a wrong mode, and knows the marker."""
    config.addinivalue_line("markers", "toolhub_replay(mode): how the cassette of a test is replayed; strict")
    if config.getini("toolhub_record_mode") not in _MODES:
        raise pytest.UsageError(f"toolhub_record_mode must be one of {', '.join(_MODES)}")


@pytest.fixture(autouse=True)
def _toolhub_network(request: pytest.FixtureRequest) -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    blocked = request.config.getoption("block_network")
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
    path = cassette_path(request.node)
    asked = request.config.getoption("toolhub_record")
    mode = asked or ("none" if os.environ.get("CI") else request.config.getini("toolhub_record_mode"))
    if mode == "all" or (mode == "once" and not path.exists()):
        with record(path):
            yield path
        return
    if not path.exists():
        pytest.fail(f"There is no cassette '{path}'; record it with: pytest --toolhub-record", pytrace=False)
    marker = request.node.get_closest_marker("toolhub_replay")
    try:
        cassette = replay(path, marker.args[0] if marker and marker.args else "strict").__enter__()
    except CassetteError as error:
        pytest.fail(str(error), pytrace=False)
    yield path
    cassette.__exit__(None, None, None)


def cassette_path(test: pytest.Item) -> Path:
    """The cassette of a test: `cassettes/test_file.TestClass.test_name.ndjson` beside its file."""
    return test.path.parent / "cassettes" / f"{test.path.stem}.{_file_name(test.nodeid)}.ndjson"


def _file_name(nodeid: str) -> str:
    """The classes and the name of a test, with `_` for what a file name should not have. Where that makes another name of it,
    a digest tells it from others that would be the same.

    >>> _file_name("tests/test_a.py::TestMore::test_x")
    'TestMore.test_x'
    >>> _file_name("tests/test_a.py::test_x[a/b]")
    'test_x_a_b_-804c3669'
    """
    place, bracket, parameters = nodeid.partition("[")
    name = ".".join(place.split("::")[1:]) + bracket + parameters
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[:_LONGEST]
    if safe == name:
        return name
    return f"{safe}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
