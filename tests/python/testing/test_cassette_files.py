"""Cassettes on disk: the written schema, secrets, and files that are wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from toolhub import ToolHub, _core
from toolhub.testing import CassetteError, record, replay

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "reference" / "events.schema.json").read_text())


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def echo(value: Any) -> Any:
        return value

    @hub.tool(read_only=True)
    def refuse(value: str) -> str:
        raise ValueError(f"not {value}")

    return hub


@pytest.fixture
def cassette(hub: ToolHub, tmp_path: Path) -> Path:
    path = tmp_path / "cassettes" / "calls.ndjson"
    with record(path):
        hub.call("echo", {"value": [1, 2.5, None, "é"]})
        hub.call("refuse", {"value": "now"})
    return path


def test_every_line_fits_the_written_schema(cassette: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    lines = [json.loads(line) for line in cassette.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["header", "call", "call", "end"]
    for line in lines:
        jsonschema.validate(line, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**lines[1], "ms": "1"}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: value for key, value in lines[1].items() if key != "result"}, SCHEMA)


def test_lines_of_the_audit_log_fit_the_same_schema() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "events.md").read_text()
    shown = [line for line in page.splitlines() if line.startswith('{"v":2')]
    assert len(shown) >= 2
    for line in shown:
        jsonschema.validate(json.loads(line), SCHEMA)


def cut(text: str) -> str:
    return text[:-30]


def without_end(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines()[:-1])


def without_header(text: str) -> str:
    return text.split("\n", 1)[1]


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (cut, r"line 4: it is cut off, so the recording was not finished"),
        (without_end, r"line 3: the line of the type 'end' is missing"),
        (without_header, r"line 1: a cassette begins with a line of the type 'header'"),
        (lambda text: "", r"line 1: a cassette begins with"),
        (replaced('{"v":2,"type":"header"', '{"v":3,"type":"header"'), r"line 1: its format has version 3.*newer"),
        (replaced('"key":{"target"', '"key":{"aim"'), r"line 2: 'key.target' must be a text"),
        (replaced('"format":"toolhub-events"', '"format":"x"'), r"line 1: 'format' must be 'toolhub-events'"),
        (replaced('"tool":"refuse"', '"tool":refuse'), r"line 3: it is not JSON"),
        (replaced('"tool":"refuse"', '"tool":7'), r"line 3: 'tool' must be a text"),
        (replaced('"began":1,', '"began":-1,'), r"line 2: 'began' must be a whole number"),
        (replaced('"outcome":"ok"', '"outcome":"fine"'), r"line 2: 'outcome' must be ok, stopped or a kind"),
        (replaced('"result":{"value"', '"result":{"worth"'), r"line 2: 'result' must have a 'value'"),
        (replaced('"outcome":"failed"}', '"outcome":"odd"}'), r"line 3: 'error.outcome' must be"),
        (replaced('"events":2', '"events":3'), r"line 4: 3 events were recorded, and the file has 2"),
        (lambda text: text + '{"v":2,"type":"call"}\n', r"line 5: it comes after the line of the type 'end'"),
        (lambda text: text.replace('{"value":[1,2.5,null,"é"]}', '"sha256:00"', 1), r"line 2: it is of an audit log"),
        (lambda text: text.replace("\n", "\n[]\n", 1), r"line 2: it is not a JSON object"),
    ],
)  # fmt: skip
def test_a_wrong_cassette_says_which_line_is_wrong(cassette: Path, change: Any, says: str) -> None:
    cassette.write_text(change(cassette.read_text()))
    with pytest.raises(CassetteError, match=says), replay(cassette):
        pass
    # Nothing is left switched on.
    with record(cassette):
        pass


def test_a_cassette_of_an_earlier_format_is_refused_with_the_command_that_records_it_again() -> None:
    earlier = Path(__file__).parents[2] / "fixtures" / "cassettes" / "version-1.ndjson"
    again = r"line 1: its format has version 1.*record it again with `toolhub record -o FILE -- COMMAND`"
    with pytest.raises(CassetteError, match=again), replay(earlier):
        pass


def test_a_mark_before_the_first_line_is_skipped(cassette: Path) -> None:
    cassette.write_text(cassette.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert _core.cassette_events(cassette)


def test_a_path_that_is_no_cassette(tmp_path: Path) -> None:
    with (
        pytest.raises(CassetteError, match=r"There is no cassette .*; record it first"),
        replay(tmp_path / "none"),
    ):
        pass
    for use in (record, replay):
        with pytest.raises(CassetteError, match="is a folder"), use(tmp_path):
            pass
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(CassetteError, match="not UTF-8"), replay(tmp_path / "binary"):
        pass


def test_two_processes_do_not_record_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "one.ndjson"
    program = (
        f"from toolhub.testing import record\ntry:\n    with record({str(path)!r}): pass\n"
        "except ValueError as error:\n    print(error)"
    )
    with record(path):
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Something else already records to" in other.stdout


LETTERS = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3Ab4Cd5Ef6Gh7Ij8Kl9Mn0Op1Qr2"
DIGITS = "0123456789abcdef" * 5
# Put together here, so that this file holds nothing that looks like a secret.
SECRETS = {
    "github": "ghp" + "_" + LETTERS[:36],
    "github_fine": "github" + "_pat_" + LETTERS[:40],
    "gitlab": "glpat" + "-" + LETTERS[:20],
    "anthropic": "sk-ant" + "-api03-" + LETTERS[:40],
    "openai": "sk-" + "proj-" + LETTERS[:40],
    "openai_old": "sk-" + LETTERS[:48],
    "openrouter": "sk-or" + "-v1-" + LETTERS[:40],
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "slack": "xoxb" + "-123456789012-" + LETTERS[:24],
    "slack_webhook": "https://hooks.slack.com/" + "services/T00000000/B00000000/" + LETTERS[:24],
    "stripe": "sk" + "_live_" + LETTERS[:24],
    "stripe_webhook": "whsec" + "_" + LETTERS[:32],
    "google": "AIza" + LETTERS[:35],
    "google_oauth": "ya29" + "." + LETTERS[:40],
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxIn0." + LETTERS[:43],
    "pem": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB" + LETTERS + "\n-----END RSA " + "PRIVATE KEY-----",
    "openssh": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3Bl\n-----END OPENSSH " + "PRIVATE KEY-----",
    "npm": "npm" + "_" + LETTERS[:36],
    "pypi": "pypi" + "-AgEIcHlwaS5vcmc" + LETTERS[:40],
    "huggingface": "hf" + "_" + LETTERS[:34],
    "sendgrid": "SG" + "." + LETTERS[:22] + "." + LETTERS[:43],
    "twilio": "SK" + DIGITS[:32],
    "telegram": "123456789:" + "AA" + LETTERS[:33],
    "discord_webhook": "https://discord.com/api/" + "webhooks/123456/" + LETTERS[:60],
    "shopify": "shpat" + "_" + DIGITS[:32],
    "digitalocean": "dop" + "_v1_" + DIGITS[:64],
    "databricks": "dapi" + DIGITS[:32],
    "linear": "lin" + "_api_" + LETTERS[:40],
    "notion": "ntn" + "_" + LETTERS[:40],
    "new_relic": "NRAK" + "-" + LETTERS[:27].upper(),
    "mailchimp": DIGITS[:32] + "-us12",
    "azure": "AccountKey" + "=" + LETTERS[:60] + "==",
    "docker": "dckr" + "_pat_" + LETTERS[:27],
    "atlassian": "ATATT3" + "x" + LETTERS[:60],
    "vault": "hvs" + "." + LETTERS[:24],
    "groq": "gsk" + "_" + LETTERS[:52],
    "figma": "figd" + "_" + LETTERS[:40],
    "grafana": "glsa" + "_" + LETTERS[:32] + "_" + DIGITS[:8],
}
PLACED = {
    "url": ("postgres://ada:{}@db.example/x", "hunter2pw"),
    "query": ("https://api.example/x?access_token={}&page=2", "q7w8e9r0"),
    "bearer": ("Authorization: Bearer {}", "plainbearer1"),
    "flag": ("tool --password={} --verbose", "p4ssw0rd"),
    "header": ("X-Api-Key: {}", "k3yk3yk3y"),
}


@pytest.mark.parametrize("kind", [*SECRETS, *PLACED])
def test_a_secret_is_nowhere_in_the_file_and_replay_still_matches(
    hub: ToolHub, tmp_path: Path, kind: str
) -> None:
    text, secret = PLACED.get(kind, ("use {} now", SECRETS.get(kind, "")))
    text = text.format(secret)
    calls = [
        ("echo", {"value": text}),
        ("echo", {"value": {"deep": [text, {"password": secret}]}}),
        ("refuse", {"value": text}),
    ]
    path = tmp_path / "calls.ndjson"
    with record(path):
        for name, args in calls:
            hub.call(name, args)
    written = path.read_text()
    telling = secret.strip().splitlines()[1] if "\n" in secret else secret
    assert telling not in written
    assert "-secret]" in written
    with replay(path):
        results = [hub.call(name, args) for name, args in calls]
    assert "-secret]" in results[0].result
    assert "-secret]" in results[2]["error"]
    # Another key of the same kind is the same call, as on another machine.
    if kind == "openai_old":
        with replay(path, "lenient"):
            assert hub.call("echo", {"value": f"use sk-{LETTERS[5:50]} now"}).success


def test_other_values_keep_what_they_are(hub: ToolHub, tmp_path: Path) -> None:
    value = {
        "key": "a",
        "text": "Key: the answer is 5",
        "time": "12:30",
        "url": "https://host:80/x?page=2",
        "max_tokens": 5,
    }
    path = tmp_path / "calls.ndjson"
    with record(path):
        hub.call("echo", {"value": value})
    with replay(path):
        assert hub.call("echo", {"value": value}).result == value
