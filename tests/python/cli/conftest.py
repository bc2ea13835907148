"""Users for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import User, new_user


@pytest.fixture
def user(tmp_path: Path) -> User:
    return new_user(tmp_path / "home")


@pytest.fixture(scope="module")
def warm_user(tmp_path_factory: pytest.TempPathFactory) -> User:
    """A user whose store knows the tools of the shop."""
    user = new_user(tmp_path_factory.mktemp("warm") / "home")
    done = user.run("connect")
    assert done.returncode == 0, done.stderr
    return user
