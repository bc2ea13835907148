#!/usr/bin/env bash
# Runs the Python tests with each supported interpreter found here, each in an environment of its own.
# Ends with one line for each: which interpreter, and whether it passed.
#
#   scripts/test-all.sh 3.12 3.13             some of them
#   WHEELS=dist scripts/test-all.sh           with the wheels there, instead of builds of this checkout
#   PYTEST_ARGS="-n 2 tests/python/bridge"    some of the tests
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t found < <(scripts/interpreters.sh "$@")
if [ "${#found[@]}" -eq 0 ]; then
  echo "no Python ${*:-3.11 to 3.14} was found on PATH or in ~/.pyenv/versions" >&2
  exit 1
fi
printf 'interpreters:\n'
printf '  %s\n' "${found[@]}"

summary=()
status=0
for line in "${found[@]}"; do
  read -r version path <<<"$line"
  # shellcheck disable=SC2086  # several arguments in one word
  if make servers programs PYTHON="$path" VENV=".venvs/$version" && scripts/environment.sh "$version" "$path" &&
    ".venvs/$version/bin/python" -m pytest ${PYTEST_ARGS:--n 4}; then
    summary+=("passed  $version  $path")
  else
    summary+=("FAILED  $version  $path")
    status=1
  fi
done

echo
printf '%s\n' "${summary[@]}"
exit "$status"
