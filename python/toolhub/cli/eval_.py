"""`toolhub eval`: checks what recorded runs did, cassettes against the cases of a YAML file."""

import argparse

from ._output import FAILED, OK, USAGE, clean, failing, put, put_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = "Check what recorded runs did: cassettes against the cases of a YAML file."
    parser.add_argument("cases", metavar="FILE", help="a YAML file of cases")
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    parser.add_argument("--save", metavar="FILE", help="write the results, for a later --compare")
    parser.add_argument("--compare", metavar="FILE", help="compare with results of an earlier --save")


def run(given: argparse.Namespace) -> int:
    """Print how each case ended; the exit code is 1 if one fails or has become worse."""
    import json
    from pathlib import Path

    from ..testing import evaluation

    with failing(USAGE, evaluation.CasesError, OSError):
        results = evaluation.evaluate(Path(given.cases))
        before = None if given.compare is None else Path(given.compare).read_text("utf-8", "replace")
        lines, is_worse = ([], False) if before is None else evaluation.compared(before, results)
        for path, text in ((given.junit, evaluation.junit), (given.save, evaluation.as_json)):
            if path is not None:
                Path(path).write_text(text(results), "utf-8")
    passed = sum(result.passed for result in results)
    if given.json:
        put_json({**json.loads(evaluation.as_json(results)), "passed": passed, "compared": lines})
    else:
        for result in results:
            put(f"{'ok    ' if result.passed else 'FAILED'} {clean(result.name)}")
            for failure in result.failures:
                put(f"       {clean(failure)}")
        for line in lines:
            put(clean(line))
        put(f"{passed} of {len(results)} cases passed")
    return FAILED if is_worse or passed < len(results) else OK
