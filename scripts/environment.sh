#!/usr/bin/env bash
# environment.sh VERSION PYTHON: makes .venvs/VERSION with the pinned tools and toolhub: this checkout, or, if WHEELS names a
# folder, the wheel for that Python in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1 python=$2 venv=".venvs/$1"

if [ -z "${WHEELS:-}" ]; then
  exec make develop PYTHON="$python" VENV="$venv"
fi
wheels=("$WHEELS"/agent_toolhub-*-cp"${version//[.t]/}-cp${version//./}"-*.whl)
if [ "${#wheels[@]}" -ne 1 ] || [ ! -f "${wheels[0]}" ]; then
  echo "$WHEELS must have one wheel for Python $version: make wheels WHEELS_ARGS=\"--only cp${version//./}\"" >&2
  exit 1
fi
make setup PYTHON="$python" VENV="$venv"
# The stamp says that this checkout is installed.
rm -f "$venv/.stamp-installed"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "${wheels[0]}"
