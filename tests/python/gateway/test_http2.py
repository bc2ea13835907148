"""HTTP/2 without TLS, by prior knowledge, as proxies in front of a served hub speak it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from gateway.test_serving import PROGRAM, served_over_http

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "curl", "version": "1"},
    },
}


def test_curl_calls_over_http2() -> None:
    curl = shutil.which("curl")
    if curl is None or "HTTP2" not in subprocess.run([curl, "-V"], capture_output=True, text=True).stdout:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no curl with HTTP/2")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    call["params"] = {"name": "add", "arguments": {"a": 2, "b": 3}}
    with served_over_http(PROGRAM, "http") as (_, url):
        for message, expected in ((HELLO, '"protocolVersion":"2025-11-25"'), (call, '"text":"5"')):
            words = [
                curl,
                "-s",
                "-m",
                "30",
                "--http2-prior-knowledge",
                "-w",
                "\n%{http_version} %{http_code}",
            ]
            words += ["-H", "Content-Type: application/json", "-H", "Accept: application/json", url]
            done = subprocess.run(
                [*words, "-d", json.dumps(message)], capture_output=True, text=True, timeout=40
            )
            body, _, status = done.stdout.rpartition("\n")
            assert status == "2 200", done
            assert expected in body
