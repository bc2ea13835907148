"""Imports the package that an integration is for, or says how to install it."""

import importlib
from typing import Any


def imported(module: str, package: str, extra: str) -> Any:
    """The module; raises `ImportError` with the way to install its package.

    >>> imported("no_such_framework.tools", "no-such-framework", "langchain")
    Traceback (most recent call last):
    ImportError: this integration needs no-such-framework: pip install 'agent-toolhub[langchain]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A broken installation of the package itself speaks for itself.
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(
            f"this integration needs {package}: pip install 'agent-toolhub[{extra}]'"
        ) from error
