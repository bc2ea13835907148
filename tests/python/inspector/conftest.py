"""One browser for the tests of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.browser import Browser, Page, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page. At the end of the test it must not have thrown, broken its policy or asked another host for anything."""
    opened: list[tuple[Page, str]] = []

    def visit(address: str | Path, **options: object) -> Page:
        url = address.as_uri() if isinstance(address, Path) else address
        page = browser.open(url, **options)  # type: ignore[arg-type]
        opened.append((page, url))
        return page

    yield visit
    for page, url in opened:
        own = url if url.startswith("file:") else url.split("/inspect")[0]
        assert [request for request in page.requests() if not request.startswith((own, "data:"))] == []
        assert page.complaints() == page.expected
        page.close()
