"""Programs of the system that some tests run; `make programs` installs them."""

from __future__ import annotations

import os
import shutil

import pytest


def require(*names: str, package: str) -> str:
    """The path of the first of these programs. Without any, the test is skipped; in CI it fails, where it must run."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        missing = f"{names[0]} is not installed (apt install {package})"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return found
