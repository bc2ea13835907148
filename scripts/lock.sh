#!/usr/bin/env bash
# Writes requirements/*.txt and requirements/servers/*.txt from their *.in: exact versions for Python 3.11
# and later, all platforms, and no download address in them. Usage: scripts/lock.sh PYTHON [--upgrade]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../requirements"
case "$1" in /*) python="$1" ;; *) python="../$1" ;; esac

"$python" -m pip install --quiet --disable-pip-version-check 'uv==0.13.*'
# dev first: bench and docs are held to its versions, so that all three fit in one environment. Each server
# that the tests meet has an environment of its own, and so has a client of the benchmarks that conflicts.
for name in dev bench docs release bench-langchain bench-mcp-proxy servers/*.in; do
  name="${name%.in}"
  "$python" -m uv pip compile "$name.in" --output-file "$name.txt" --quiet "${@:2}" \
    --universal --python-version 3.11 --no-annotate --no-emit-index-url --no-emit-find-links \
    --custom-compile-command "make lock"
done
