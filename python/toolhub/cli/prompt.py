"""`toolhub prompt`: the tools as a model gets them."""

import argparse
from typing import Any

from ._catalog import connect_missing, open_hub
from ._output import USAGE, answer, failing, put, put_json, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("base", nargs="?", default="", metavar="TEXT", help="text to put before the tools")
    parser.add_argument("--query", metavar="TEXT", help="only the tools that fit this best")
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of tools")
    parser.add_argument(
        "--style", choices=("detailed", "compact", "names"), default="detailed", help="default: detailed"
    )
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="default: en")
    parser.add_argument("--budget-tokens", type=int, metavar="N", help="maximum length of the prompt")
    parser.add_argument(
        "--format",
        choices=("text", "openai", "anthropic", "gemini"),
        default="text",
        help="a prompt, or the tools for an API (default: text)",
    )


def run(given: argparse.Namespace) -> int:
    """Print the prompt, or a JSON object with the tools."""
    with open_hub(given) as (hub, problems):
        code = connect_missing(hub, problems)
        with failing(USAGE, ValueError):
            if given.format == "text":
                text = hub.system_prompt(
                    given.base,
                    query=given.query,
                    limit=given.limit,
                    # The hub's core tools would come in addition.
                    core=None if given.limit is None else (),
                    style=given.style,
                    lang=given.lang,
                    budget_tokens=given.budget_tokens,
                )
                answer(given, {"prompt": text}, text, put)
                return code
            declare: Any = getattr(hub, f"as_{given.format}")
            tools = declare(given.query, given.limit)
        for name, reason in tools.skipped:
            say(f"'{name}' is left out: {reason}")
        put_json({"tools": list(tools)})
        return code
