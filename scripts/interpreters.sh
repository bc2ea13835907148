#!/usr/bin/env bash
# Prints one line "X.Y /path/to/python" for each supported interpreter that really runs here.
# Looks on PATH first, then in pyenv's folder: a pyenv shim on PATH may exist and still refuse to run.
set -euo pipefail

for version in 3.11 3.12 3.13 3.14; do
  candidates=("python$version")
  for folder in "$HOME/.pyenv/versions/$version".*/; do
    candidates+=("${folder}bin/python$version")
  done
  for candidate in "${candidates[@]}"; do
    # The interpreter names itself, so a shim is resolved; `ensurepip` is what `venv` needs.
    if path=$("$candidate" -c 'import sys, ensurepip; print(sys.executable)' 2>/dev/null); then
      echo "$version $path"
      break
    fi
  done
done
