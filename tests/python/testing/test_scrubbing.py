"""What counts as a secret in what is written down, and what does not: by form, by name, by place; in data and in text."""

from __future__ import annotations

import itertools
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolhub import ToolHub, _core
from toolhub.testing import record, replay

WORD = "hunter2hunter2"
RANDOM = "MqN4FIHVFX1Vm2Ytf2Se0FYC"
HEX = "0123456789abcdef" * 10
LETTERS = "aZ3kQ9xW1pLm7Yt2Rb5Vn8Hc4Jd6Fg0SeUiOaZ3kQ9xW1pLm7Yt2Rb5Vn8Hc4Jd6Fg0SeUiO"

# Put together here, so that this file holds nothing that looks like a secret.
FORMS = {
    "xai": "xai" + "-" + LETTERS,
    "tavily": "tvly" + "-dev-" + LETTERS[:32],
    "supabase": "sbp" + "_" + HEX[:40],
    "supabase_key": "sb" + "_secret_" + LETTERS[:31],
    "fly": "FlyV1" + " fm2_" + LETTERS,
    "fly_macaroon": "fm2" + "_" + LETTERS,
    "nvidia": "nvapi" + "-" + LETTERS[:64],
    "langsmith": "lsv2" + "_pt_" + HEX[:32] + "_" + HEX[:10],
    "pinecone": "pcsk" + "_" + LETTERS[:60],
    "cerebras": "csk" + "-" + LETTERS[:48],
    "firecrawl": "fc" + "-" + HEX[:32],
    "heroku": "HRKU" + "-AA" + LETTERS[:58],
    "planetscale": "pscale" + "_tkn_" + LETTERS[:43],
    "pulumi": "pul" + "-" + HEX[:40],
    "tailscale": "tskey" + "-auth-" + LETTERS[:30],
    "gitlab_agent": "glagent" + "-" + LETTERS[:50],
    "sourcegraph": "sgp" + "_" + HEX[:40],
    "sonar": "squ" + "_" + HEX[:40],
    "sendinblue": "xkeysib" + "-" + HEX[:64] + "-" + LETTERS[:16],
    "resend": "re" + "_" + LETTERS[:8] + "_" + LETTERS[:24],
    "alibaba": "LTAI" + LETTERS[:20],
    "dynatrace": "dt0c01" + "." + LETTERS[:24].upper() + "." + LETTERS[:64].upper(),
    "openshift": "sha256" + "~" + LETTERS[:43],
    "mapbox": "sk." + "eyJ" + LETTERS[:60] + "." + LETTERS[:22],
    "rubygems": "rubygems" + "_" + HEX[:48],
    "bitbucket": "ATBB" + LETTERS[:32],
    "asana": "1" + "/" + "1129122236079113" + ":" + HEX[:32],
    "telegram": "https://api.telegram.org/bot" + "123456789" + ":AA" + LETTERS[:33],
    "nuget": "oy2" + ("ab2c3d4e5f" * 5)[:43],
    "crates": "cio" + LETTERS[:32],
    "anyscale": "esecret" + "_" + LETTERS[:26],
    "cohere": "co" + "_" + LETTERS[:40],
    "neon": "npg" + "_" + LETTERS[:16],
}

# Each has WORD or RANDOM, which is the secret.
TEXTS = [
    "Authorization: Basic dXNlcjpodW50ZXIycGFzcw== next",
    "Authorization: Basic dXNlcjpodW50ZXIycGFzcw==, Accept: x",
    f"Authorization: Bearer {RANDOM} next",
    f"Authorization: token {WORD}",
    f"Proxy-Authorization: Bearer {RANDOM}",
    f"X-Api-Key: {RANDOM} next",
    f"GET /x X-Api-Key: {RANDOM} HTTP/1.1",
    f"X-Api-Key: {RANDOM}\nAccept: x",
    f"curl -H 'Authorization: Bearer {RANDOM}' https://x",
    f'curl -H "X-Api-Key: {RANDOM}" https://x',
    f"https://{WORD}@github.com/x",
    f"https://x-access-token:{WORD}@github.com/x",
    f"https://u:p@{WORD}@host",
    f"redis://:{WORD}@host/0",
    f"https://x/cb#access_token={WORD}&x=1",
    f"export DB_PASSWORD={WORD}",
    f"aws_secret_access_key = {RANDOM}",
    f"Cookie: theme=dark; sid={WORD} next",
    f"Set-Cookie: sid={WORD}; Path=/; HttpOnly",
    f"password := '{WORD}'",
    f"{{'password': '{WORD}'}}",
    json.dumps({"body": json.dumps({"password": WORD})}),
]

ORDINARY = [
    "sk-learn-contrib-imbalanced-learning-package",
    "The word password: noun, a secret word",
    "Ihr Passwort: vergessen?",
    "password: required",
    "password: optional, at least 8 characters",
    "token count: 512",
    "Tokens: 4096",
    "max_tokens: 4096",
    "tokens: [1,2]",
    "tokens: [15496, 11, 995]",
    "secretary: Bob",
    "author: Jane Doe",
    "Session: morning",
    "Signature: Jane Doe",
    "primary key: customer_number_1",
    "Key: the answer is 5",
    "keywords: a, b",
    "Token: the answer is 5",
    "next token: banana",
    "token: str",
    "auth: Optional[AuthProvider] = None",
    "token = get_token(user)",
    "password=${DB_PASSWORD}",
    "Authorization: Bearer <token>",
    "Authorization: Basic authentication is required",
    "a bearer of bad news",
    "use the --token option",
    "docker run -u 1000:1000 image",
    "https://bob@host/x",
    "密码：不能为空",
    "at 12:30",
    "key-value and risk-averse",
    "The session is over.",
    "sort by key: date",
    "unlock key: Escape",
    "password: n/a",
    "Passwort: falsch",
    "mot de passe : oublié ?",
    "contraseña: incorrecta",
    "Authorization: pending",
    'password=os.environ["PW"]',
    "api_key = config.api_key",
    "api_key: Optional[str] = None",
    '"password": "string"',
    "docker login registry && docker run -p 8080:80 image",
    "translate('password', 'Passwort')",
    "The password is: required",
    '{"type": "object", "properties": {"password": {"type": "string", "description": "Your password"}}}',
]


def scrub(value: Any) -> Any:
    return _core.scrub(value)


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def echo(value: Any) -> Any:
        return value

    @hub.tool(read_only=True)
    def refuse(value: Any) -> Any:
        raise ValueError(str(value))

    return hub


def written(hub: ToolHub, path: Path, value: Any) -> str:
    with record(path):
        hub.call("echo", {"value": value})
        hub.call("refuse", {"value": value})
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", FORMS)
def test_secrets_of_known_forms_are_not_written(hub: ToolHub, tmp_path: Path, kind: str) -> None:
    secret = FORMS[kind]
    values: list[Any] = [
        secret,
        f"please use {secret} now.",
        {"deep": [{"a": secret}]},
        {secret: 1},
        json.dumps({"a": secret}),
    ]
    for value in values:
        assert secret not in written(hub, tmp_path / "calls.ndjson", value)


@pytest.mark.parametrize("text", TEXTS)
def test_secrets_are_known_by_their_place_in_a_text(hub: ToolHub, tmp_path: Path, text: str) -> None:
    path = tmp_path / "calls.ndjson"
    lines = written(hub, path, text)
    assert WORD not in lines
    assert RANDOM not in lines
    assert "dXNlcjpodW50ZXIycGFzcw" not in lines
    # The same for the error in events and logs, and in the middle of a longer text.
    assert WORD not in _core.event_error(f"it failed: {text}", None, None, True)
    with replay(path):
        assert "-secret]" in str(hub.call("echo", {"value": text}).result)
        assert "-secret]" in str(hub.call("refuse", {"value": text}).error)


@pytest.mark.parametrize(
    "value",
    [
        {"password": 12345678},
        {"pin": 1234},
        {"password": ["swordfish"]},
        {"api_keys": ["swordfish", {"prod": "swordfish"}]},
        {"token": {"value": WORD}},
        {"credentials": {"user": {"name": "swordfish"}}},
        {"name": "password", "value": "swordfish"},
        [["Authorization", f"Bearer {WORD}"]],
        ["--password", "swordfish"],
        {"headers": {"Authorization": ["Bearer swordfish"]}},
        {"env": [f"API_KEY={WORD}"]},
        {"key": RANDOM},
    ],
)
def test_everything_under_the_name_of_a_secret_is_one(value: Any) -> None:
    clean = json.dumps(scrub(value))
    for secret in ("swordfish", "12345678", "1234", WORD, RANDOM):
        assert secret not in clean
    assert scrub(json.loads(clean)) == json.loads(clean)
    # Its text is treated as it is.
    if isinstance(value, dict) and "value" not in value:
        assert json.loads(scrub(json.dumps(value))) == json.loads(clean)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert scrub(text) == text
    assert scrub({"text": [text]}) == {"text": [text]}


@pytest.mark.parametrize(
    "value",
    [
        {"tokens": [1, 2], "max_tokens": 4096, "key": "a", "keys": ["name", "id"]},
        {"usage": {"prompt_tokens": 512, "completion_tokens": 20}},
        {"logprobs": {"tokens": ["Hello", " world"]}},
        {"session": {"id": 7, "title": "Morning", "starts": "2026-11-17T09:00:00Z"}},
        {"password": None, "token": True, "secret": ""},
        {"next_page_token": "CAUQAA", "pageToken": "CAUQAA", "page_token": "CAUQAA"},
        {"bos_token": "<s>", "eos_token": "</s>"},
        {"session": "monday", "auth": "none", "pin": "top left"},
        {"key": "customer_number_one", "page": 1},
        {"key": 123456789},
        {"password": "string", "token": "string"},
        ["-u", "1000:1000"],
        {
            "name": "get_token",
            "description": "Get a token.",
            "inputSchema": {
                "type": "object",
                "properties": {"password": {"type": "string", "minLength": 8}, "token": {"title": "Token"}},
                "required": ["password"],
            },
        },
    ],
)
def test_ordinary_data_stays(value: Any) -> None:
    assert scrub(value) == value
    assert scrub(json.dumps(value)) == json.dumps(value)


def test_two_names_that_are_secrets_stay_two() -> None:
    clean = scrub({FORMS["xai"]: 1, FORMS["xai"][:-1] + "q": 2})
    assert clean == {"[xai-secret]": 1, "[xai-secret] 2": 2}


def test_errors_in_logs_and_in_the_ledger_hide_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.on_event(lambda event: seen.append(repr(event)))

        @hub.tool
        def pay() -> str:
            raise ValueError(f"the bank refused X-Api-Key: {RANDOM} at {FORMS['xai']}")

        with caplog.at_level(logging.DEBUG):
            hub.call("pay", {}, run="r")
        rows = hub.ledger("r")
    for text in (*seen, caplog.text, str(rows[0].error)):
        assert RANDOM not in text
        assert FORMS["xai"] not in text
    assert "the bank refused" in str(rows[0].error)


_PIECES = some.sampled_from(
    [
        *(
            "password",
            "token",
            "api key",
            "session",
            '"password"',
            '\\"token\\"',
            "Authorization",
            "Bearer ",
            "Basic ",
        ),
        *(
            ": ",
            "=",
            ":",
            ", ",
            "\n",
            " is ",
            "://",
            "@",
            "curl -u ",
            "--token ",
            '"',
            "'",
            "{",
            "}",
            "[",
            "]",
            "\\",
        ),
        *(WORD, RANDOM, "bob", "required", "123456", "Cookie: a=", "；", "密码：", "[named-secret]"),
    ]
) | some.text(max_size=5)


@given(some.lists(_PIECES, max_size=25).map("".join))
def test_a_second_run_changes_nothing(text: str) -> None:
    once = scrub(text)
    assert scrub(once) == once
    assert scrub({"a": [text]}) == {"a": [once]}


_NAMES = some.sampled_from(["password", "api_key", "clientSecret", "db-password", "passphrase"])
_SECRETS = some.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ", min_size=8, max_size=30).map(
    lambda text: f"{text}7q"
)


@given(_NAMES, _SECRETS, some.sampled_from(["", "then go on", "user: bob", "HTTP/1.1", "& more"]))
def test_a_secret_under_its_name_is_never_left(name: str, secret: str, after: str) -> None:
    for text in (
        f"{name}={secret} {after}",
        f'{{"{name}": "{secret}"}} {after}',
    ):
        assert secret not in scrub(text), text
    for data in ({name: secret}, {name: [secret]}, {name: {"value": secret}}):
        assert secret not in json.dumps(scrub(data))


_PLAIN = some.sampled_from(
    [
        "the",
        "token",
        "of",
        "a",
        "key",
        "was",
        "lost",
        "and",
        "password",
        "rules",
        "are",
        "strict",
        "for",
        "every",
        "session",
        "author",
        "secretary",
    ]
)


@given(some.lists(_PLAIN, max_size=20).map(" ".join))
def test_plain_words_stay(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        f"password: {WORD} ",
        "password: '",
        'token: "a',
        '"token": [',
        '"token": {"type": "object", "properties": {',
        'token: \\\\"x ',
        "a:b=",
        "bearer ",
        "Cookie: a=b; ",
        "curl -u a:b ",
        "://@",
        " is ",
        "--token ",
        "-",
        " ",
        "密码：",
        "<password>",
        "</",
        "%3D",
        "%22%3A%22",
        "password%22%3A%22",
        "('",
        "('password', '",
        '(\\"',
        " is: ",
        "是 ",
        '是"',
        "password=]",
        "token%3D",
        "|",
        "| password ",
        'key="a" value="',
        "password:\n ",
        "password ",
        'Digest response="',
        '"-u", ',
        "sk.eyJ",
        "ghp_" + "a" * 20 + " ",
    ],
)
def test_a_long_text_is_read_once(piece: str) -> None:
    """In quadratic time this would take hours."""
    text = "".join(itertools.islice(itertools.cycle(piece), 100_000))
    scrub(text)
