#!/usr/bin/env bash
# Runs the Python tests with each supported interpreter found here, each in an environment of its own.
# Ends with one line for each: which interpreter, and whether it passed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t found < <(scripts/interpreters.sh)
if [ "${#found[@]}" -eq 0 ]; then
  echo "no Python 3.11 to 3.14 was found on PATH or in ~/.pyenv/versions" >&2
  exit 1
fi
printf 'interpreters:\n'
printf '  %s\n' "${found[@]}"

summary=()
status=0
for line in "${found[@]}"; do
  read -r version path <<<"$line"
  if make test-python PYTHON="$path" VENV=".venvs/$version"; then
    summary+=("passed  $version  $path")
  else
    summary+=("FAILED  $version  $path")
    status=1
  fi
done

echo
printf '%s\n' "${summary[@]}"
exit "$status"
