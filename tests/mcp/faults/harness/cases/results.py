"""What a result may hold, and how large it may be."""

from __future__ import annotations

from typing import Any

from ..trial import Trial
from .catalogue import UNICODE, call_case, case, err, ok, settled

# ================================================================================== results
G = "result"
call_case("missing_content", G, "settles; the connection survives", settled)
call_case("null_result", G, "a null result is an error", err("protocol"))
call_case("list_result", G, "a result that is not an object is an error", err("protocol"))
call_case("content_not_list", G, "malformed content is an error", err("protocol"))
call_case("content_bad_base64", G, "settles; the connection survives", settled)


@case("content_types", G, "text, image, audio, resource and resource_link all arrive whole", trigger="tool `content_types`")
async def content_types(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "content_types")
    if t.ok(o):
        kinds = [b.get("type") for b in o.value.content]
        t.check(kinds == ["text", "image", "audio", "resource", "resource", "resource_link"], f"content became {kinds}")
        t.check(o.value.content[3].get("resource", {}).get("text") == "inline", "embedded text lost")
        t.check(o.value.content[4].get("resource", {}).get("blob") == "AAEC", "embedded blob lost")


@case("content_unknown_type", G, "an unknown content type does not lose the known ones", trigger="tool `content_unknown_type`")
async def content_unknown_type(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "content_unknown_type")
    if not o.hung:
        t.check(o.ok and "kept" in o.value.text, f"the whole result was lost: {o}")
    await t.usable(client)


@case("many_blocks", G, "50 000 content blocks arrive in under 15 s", trigger="tool `many_blocks`")
async def many_blocks(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "many_blocks", {"n": 50_000}, timeout=15)
    if t.ok(o):
        t.check(len(o.value.content) == 50_000, f"{len(o.value.content)} blocks")


@case("structured", G, "structuredContent is delivered, with and without content", trigger="tools `structured_ok`, `structured_only`")
async def structured(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.list(client))
    for tool in ("structured_ok", "structured_only"):
        o = await t.call(client, tool)
        if t.ok(o):
            t.check(o.value.structured == {"sum": 3}, f"{tool}: {o.value.structured!r}")


call_case("structured_invalid", G, "content that breaks the tool's own schema does not pass silently as valid", err("protocol"),
          list_first=True)
call_case("structured_missing", G, "an answer without the structured content that the tool's schema demands is not a good answer", err("protocol"),
          list_first=True)
call_case("unknown_result_type", G, "an answer of an unknown type is not taken for a result", err("protocol"))
call_case("structured_recursive_ref", G, "a schema that refers to itself does not blow the stack", settled, list_first=True)
call_case("structured_bad_schema", G, "an invalid schema costs at most this call", settled, list_first=True)
call_case("structured_redos", G, "a hostile pattern cannot stall the process", settled, list_first=True, timeout=3, limit=25)


@case("structured_remote_ref", G, "a $ref to another host is never fetched", trigger="tool `structured_remote_ref`")
async def structured_remote_ref(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.list(client))
    t.settled(await t.call(client, "structured_remote_ref"))
    t.check(not t.events("evil_hit"), "fetched a URL found in a schema (SSRF)")
    await t.usable(client)


# ==================================================================================== sizes
G = "size and encoding"


def big(id: str, size: int, timeout: float, **options: Any) -> None:
    @case(id, G, f"{size // 1_000_000} MB of text arrive whole, or are refused for their size", trigger=f"tool `big` {size}",
          **options)
    async def scenario(t: Trial) -> None:
        client, _ = await t.connect()
        o = await t.call(client, "big", {"bytes": size}, timeout=timeout)
        t.metrics["seconds"] = round(o.seconds, 2)
        if o.ok:
            t.check(len(o.value.text) == size, f"{len(o.value.text)} of {size} characters")
        elif o.error:
            t.check(o.error.kind == "limit" or "size" in o.error.message.lower() or "limit" in o.error.message.lower(),
                    f"lost, and not for a stated limit: {o}")
        await t.usable(client)


big("big_1mb", 1_000_000, 5, on=("stdio", "http", "sse"))
big("big_16mb", 16_000_000, 20, rss_mib=400)
big("big_100mb", 100_000_000, 30, rss_mib=1500, limit=120)


@case("big_argument", G, "an 8 MB argument makes the round trip", trigger="tool `echo`, 8 MB")
async def big_argument(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "echo", {"text": "y" * 8_000_000}, timeout=20)
    if t.ok(o):
        t.check(len(o.value.text) == 8_000_000, f"{len(o.value.text)} characters came back")


call_case("deep_1e6", G, "10^6 nested arrays: an error, no crash, the connection survives", err("protocol", "limit"), tool="deep",
          args={"depth": 1_000_000}, timeout=5)
call_case("deep_5000", G, "5000 nested arrays: settles, the connection survives", settled, tool="deep", args={"depth": 5000})
call_case("wide", G, "200 000 keys settle within 5 s", settled, timeout=5)
call_case("invalid_utf8", G, "invalid UTF-8 costs at most this call", settled)
call_case("unicode_separators", G, "U+2028, U+2029, U+0085, NUL and astral characters arrive unchanged", ok(UNICODE),
          on=("stdio", "http", "sse"))
call_case("lone_surrogate", G, "a lone surrogate costs at most this call", settled)
call_case("raw_control_char", G, "a raw control character (invalid JSON) costs at most this call", settled)
call_case("numbers_nan", G, "NaN and Infinity (invalid JSON) cost at most this call", settled)
call_case("int_bomb", G, "a five-million-digit integer settles within 5 s", settled, timeout=5, limit=40)
call_case("dup_keys", G, "duplicate keys settle", settled)


@case("numbers", G, "integers beyond 2^53 are not rounded", trigger="tool `numbers`")
async def numbers(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "numbers")
    if o.ok and isinstance(o.value.structured, dict):
        t.check(o.value.structured.get("i53") == 9007199254740993, f"i53 became {o.value.structured.get('i53')!r}")
        t.prefer(o.value.structured.get("big") == int("9" * 400), "an integer of 400 digits was rounded")
    await t.usable(client)


@case("integers", G, "an integer of 400 digits arrives exactly, both ways", on=("stdio", "http", "sse"), trigger="tool `integers`",
      tier="hub", outcome="result, then usable", bound="2 s deadline + slack")
async def integers(t: Trial) -> None:
    client, _ = await t.connect()
    for n in (2**63, 2**64, -(10**399) - 7, 10**400 + 7):
        o = await t.call(client, "integers", {"n": n})
        if t.ok(o, str(n + 1)):
            t.check(o.value.structured == {"n": n + 1, "all": [{"minus": -n}]}, f"{n} became {o.value.structured!r}")
    await t.usable(client)
