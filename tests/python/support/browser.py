"""A headless Chromium, driven by its DevTools protocol over a pipe: no driver, no socket, nothing else to install."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.programs import require

PATIENCE = 25.0
NAMES = ("chromium", "chromium-browser", "google-chrome")


class BrowserError(AssertionError):
    """What a page threw, or what the browser refused."""


def program() -> str:
    """The browser."""
    return require(*NAMES, package="chromium")


class Browser:
    """The process and its pipe: messages of JSON that end with a zero byte."""

    def __init__(self, process: subprocess.Popen[bytes], to_browser: int, from_browser: int) -> None:
        self.process, self._to, self._from = process, to_browser, from_browser
        self._numbers = itertools.count(1)
        self._rest = b""
        self.pages: dict[str, Page] = {}

    def send(self, method: str, session: str | None = None, **params: Any) -> Any:
        """One command, and its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if page := self.pages.get(answer.get("sessionId", "")):
                page.events.append(answer)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._from, 1 << 20) if ready else b""
            if not part:
                raise BrowserError("the browser does not answer")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, url: str, *, width: int = 1200, height: int = 800, dark: bool = False) -> Page:
        """A new page in a profile of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        page.resize(width, height, dark=dark)
        page.go(url)
        return page


class Page:
    """One page, its requests and what it complained about."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self.session, self._target = browser, session, target
        self.events: list[dict[str, Any]] = []
        self.expected: list[str] = []
        """What it complains about in the test, such as an answer 403."""

    def send(self, method: str, **params: Any) -> Any:
        """A command for this page."""
        return self._browser.send(method, self.session, **params)

    def go(self, url: str) -> None:
        """Load a page, and wait for its end."""
        self.send("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Width and height in pixels; the scheme of colours."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """The value of an expression, or of its promise."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                # The browser itself waits a little, so that this is not a busy loop.
                waiting = (
                    f"new Promise(done => ({condition}) ? done(true) : setTimeout(() => done(false), 20))"
                )
                if self.run(waiting):
                    return
            except BrowserError as error:
                # The page was replaced meanwhile, as a navigation does.
                if "context" not in str(error) and "navigated" not in str(error):
                    raise
        raise BrowserError(f"it did not happen: {condition}\n{self.run('document.body.innerText')[:2000]}")

    def click(self, selector: str, text: str | None = None) -> None:
        """Click the first element that fits, with this text if one is given."""
        fits = "true" if text is None else f"e.textContent.trim() === {json.dumps(text)}"
        choose = f"[...document.querySelectorAll({json.dumps(selector)})].find(e => {fits})"
        self.wait_for(f"!!({choose})")
        self.run(f"({choose}).click()")

    def fill(self, selector: str, text: str) -> None:
        """Write into a field."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)};"
            " e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def text(self, selector: str = "body") -> str:
        """What a reader sees there."""
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        self.run("0")
        return [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """Exceptions and errors in the log, among them violations of the policy."""
        self.run("0")
        found: list[str] = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def screenshot(self, path: Path) -> None:
        """Write what is seen as a picture."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """End the page."""
        self._browser.send("Target.closeTarget", targetId=self._target)


@contextmanager
def chromium(profile: Path) -> Generator[Browser]:
    """A browser for some tests, with a profile in this folder."""
    read_end, to_browser = os.pipe()
    from_browser, write_end = os.pipe()
    flags = [
        *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *(
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ),
        *(
            "--disable-dev-shm-usage",
            "--password-store=basic",
            "--use-mock-keychain",
            f"--user-data-dir={profile}",
        ),
    ]
    # The protocol is spoken on the descriptors 3 and 4.
    script = f'exec "$0" "$@" 3<&{read_end} 4>&{write_end}'
    process = subprocess.Popen(
        ["bash", "-c", script, program(), *flags],
        pass_fds=(read_end, write_end),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_end)
    os.close(write_end)
    browser = Browser(process, to_browser, from_browser)
    try:
        browser.send("Browser.getVersion")
        yield browser
        browser.send("Browser.close")
    finally:
        os.close(to_browser)
        os.close(from_browser)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
