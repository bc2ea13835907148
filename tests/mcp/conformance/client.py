"""The command that the conformance suite starts: connect a hub to the URL, then do what the scenario is about.

The suite gives the URL as the last argument and says in the environment which scenario runs
(`MCP_CONFORMANCE_SCENARIO`) and what it wants used (`MCP_CONFORMANCE_CONTEXT`, JSON).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.parse
import urllib.request
from typing import Any

from toolhub import ToolHub

SERVER = "suite"
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
# Where the suite believes that the description of this client is published.
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
# These are about connecting and listing; calling what they list is not part of them.
LIST_ONLY = {"initialize", "request-metadata", "json-schema-ref-no-deref"}
EXAMPLES = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def accept(server: str, request: dict[str, Any]) -> dict[str, Any]:
    """The user agrees and types nothing beyond what must be given: the hub fills in the defaults."""
    schema = request.get("requestedSchema", {})
    open_fields = {name: field for name, field in schema["properties"].items() if "default" not in field}
    return {
        "action": "accept",
        "content": {name: EXAMPLES[field["type"]] for name, field in open_fields.items()},
    }


def visit(server: str, url: str) -> None:
    """The browser: the suite's page agrees at once and sends it on to the hub's own address."""
    with urllib.request.urlopen(url, timeout=30) as page:
        page.read()


def issuer(url: str) -> str:
    """Where a user of the server has registered the client: a secret is sent nowhere else."""
    place = urllib.parse.urlsplit(url)
    metadata = f"{place.scheme}://{place.netloc}/.well-known/oauth-protected-resource{place.path}"
    with urllib.request.urlopen(metadata, timeout=30) as answer:
        return json.load(answer)["authorization_servers"][0]


def auth(url: str) -> dict[str, Any] | None:
    """Who we are, for the scenarios that ask."""
    if not SCENARIO.startswith("auth/"):
        return None
    known = {key: CONTEXT[key] for key in ("client_id", "client_secret") if key in CONTEXT}
    if "client_secret" in known:
        known["issuer"] = issuer(url)
    if "client-credentials" in SCENARIO:
        return {"type": "client_credentials", **known}
    return {"type": "oauth", **(known or {"client_metadata_url": CLIENT_METADATA})}


def example(parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments that fit a simple schema."""
    fields = parameters.get("properties", {})
    return {name: EXAMPLES[field["type"]] for name, field in fields.items()}


def calls(hub: ToolHub) -> list[tuple[str, dict[str, Any]]]:
    """What to call: what the suite says, else each tool once."""
    if "toolCalls" in CONTEXT:
        return [(call["name"], call["arguments"]) for call in CONTEXT["toolCalls"]]
    tools = {tool.name: tool.parameters for tool in hub.tools(source="mcps", server=SERVER)}
    if SCENARIO == "json-schema-2020-12-preservation":
        return [("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]})]
    return [] if SCENARIO in LIST_ONLY else [(name, example(schema)) for name, schema in tools.items()]


async def load_skills(hub: ToolHub) -> None:
    """Loads each skill, as a user of it would: its instructions, then its files. What is not as listed is refused."""
    if "no-prefetch" in SCENARIO:
        return
    for skill in hub.tools(source="skills", server=SERVER):
        loaded = await hub.execute(skill.name)
        print(f"{skill.name}: {loaded.error or 'loaded'}")
        for path in loaded.result["resources"] if loaded.success else []:
            print(f"{path}: {(await hub.execute(skill.name, {'file': path})).error or 'read'}")


async def main(url: str) -> None:
    async with ToolHub(elicitation=accept, login={"open_url": visit, "token_file": None}, timeout=60) as hub:
        hub.add_server(SERVER, url=url, auth=auth(url), startup_timeout=60)
        report = await hub.connect([SERVER])
        if report.failed:
            raise report.failed[SERVER]
        await load_skills(hub)
        # All at once, so that the answers to one call's questions could end up in another. The suite sends values that
        # break a tool's own schema, so nothing is checked on our side.
        wanted = calls(hub)
        results = await asyncio.gather(
            *(hub.execute(name, arguments, server=SERVER, validate=False) for name, arguments in wanted)
        )
        for (name, _), result in zip(wanted, results, strict=True):
            print(f"{name}: {result.unwrap()!r}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
