#!/usr/bin/env bash
# Prints one line "X.Y /path/to/python" for each supported interpreter that really runs here, or for those that are named
# ("3.14t": without a GIL).
# Looks on PATH first, then in pyenv's folder: a pyenv shim on PATH may exist and still refuse to run.
set -euo pipefail

[ $# -gt 0 ] || set -- 3.11 3.12 3.13 3.14
for version in "$@"; do
  number=${version%t}
  candidates=("python$version")
  for folder in "$HOME/.pyenv/versions/$number".*"${version#"$number"}"/; do
    candidates+=("${folder}bin/python$version")
  done
  # The interpreter names itself, so a shim is resolved, and the one without a GIL is known, which also answers to the plain
  # name; `ensurepip` is what `venv` needs.
  question="import sys, sysconfig, ensurepip
is_free = bool(sysconfig.get_config_var('Py_GIL_DISABLED'))
print(sys.executable) if is_free == '$version'.endswith('t') else sys.exit(1)"
  for candidate in "${candidates[@]}"; do
    if path=$("$candidate" -c "$question" 2>/dev/null); then
      echo "$version $path"
      break
    fi
  done
done
