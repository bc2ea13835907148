#!/usr/bin/env bash
# Runs the tests of what threads share on a Python without a GIL, in an environment of its own. Arguments go to pytest.
#
#   WHEELS=dist scripts/free-threading.sh    with the wheel there, instead of a build of this checkout
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -r version path < <(scripts/interpreters.sh 3.14t) || {
  echo "no python3.14t was found on PATH or in ~/.pyenv/versions" >&2
  exit 1
}
venv=".venvs/$version"
scripts/environment.sh "$version" "$path"
# Importing the extension must not bring the GIL back: the interpreter does that for a module which does not say it needs none.
"$venv/bin/python" -W error -c 'import sys, toolhub; toolhub.ToolHub().close(); assert not sys._is_gil_enabled()'
# On a busy machine a thread takes long to start there: locks of the interpreter call `sched_yield` 40 times before they sleep.
exec "$venv/bin/python" -m pytest -p no:cacheprovider --timeout=300 -o faulthandler_timeout=600 \
  tests/python/running/test_eight_threads.py tests/python/bridge tests/python/test_closing_calls.py \
  tests/python/test_calling.py tests/python/test_strategies.py tests/python/test_registering.py "$@"
