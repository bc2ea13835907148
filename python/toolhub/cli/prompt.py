"""`toolhub prompt`: the tools as a model gets them."""

from ._catalog import connect_missing, open_hub, tell
from ._exits import USAGE, Failure
from ._output import add_json_argument, put, put_json, say
from ._sources import add_source_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("base", nargs="?", default="", metavar="TEXT", help="preamble")
    parser.add_argument("--query", metavar="TEXT", help="only the tools that fit this best")
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of tools")
    parser.add_argument(
        "--style", choices=("detailed", "compact", "names"), default="detailed", help="(detailed)"
    )
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="(en)")
    parser.add_argument("--budget-tokens", type=int, metavar="N", help="the length of the prompt")
    parser.add_argument(
        "--format",
        choices=("text", "openai", "anthropic", "gemini"),
        default="text",
        help="a prompt, or the tools for an API (text)",
    )
    add_json_argument(parser)
    add_source_arguments(parser)


def run(given: "argparse.Namespace") -> int:
    """Print the prompt, or a JSON object with the tools."""
    with open_hub(given) as (hub, problems):
        code = connect_missing(hub, problems)
        tell(problems)
        try:
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
                if given.json:
                    put_json({"prompt": text})
                else:
                    put(text)
                return code
            declare: Any = getattr(hub, f"as_{given.format}")
            tools = declare(given.query, given.limit)
        except ValueError as error:
            raise Failure(error, USAGE) from None
        for name, reason in tools.skipped:
            say(f"'{name}' is left out: {reason}")
        put_json({"tools": list(tools)})
        return code
