"""Programs of one environment that start at once: a process imports the packages, and each program is a fork of it.

    python warm.py serve ADDRESS mcp uvicorn     (in the environment of the packages; ends with its stdin)
    python warm.py ADDRESS program.py words…     (any Python; `-c CODE` too)

The second one hands its pipes, folder and variables to the fork and waits for it. They end together: when one is killed, so is
the other. A signal reaches only the process that waits: a test of signals starts the program itself.
"""

import contextlib
import gc
import importlib
import marshal
import os
import selectors
import signal
import socket
import sys
import types


def start(address: str, words: list[str]) -> int:
    """Have a program run, and say how it ended."""
    with socket.socket(socket.AF_UNIX) as fork:
        fork.connect(address)
        order = marshal.dumps((words, os.getcwd(), dict(os.environ)), 2)
        socket.send_fds(fork, [len(order).to_bytes(4, "big")], [0, 1, 2])
        fork.sendall(order)
        # Whoever reads them must see an end when the fork closes them.
        os.closerange(0, 3)
        return (fork.recv(1) or b"\xff")[0]


def serve(address: str, packages: list[str]) -> None:
    """Load the packages and fork until stdin ends, which is the end of all forks too."""
    os.setpgid(0, 0)
    for package in packages:  # of which each version has some
        with contextlib.suppress(ImportError):
            importlib.import_module(package)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as ready:

        def begin() -> None:
            waiting, _ = listener.accept()
            size, pipes, _, _ = socket.recv_fds(waiting, 4, 3)
            with waiting.makefile("rb") as orders:
                order = marshal.loads(orders.read(int.from_bytes(size, "big")))
            if (pid := os.fork()) == 0:
                _run(pipes, *order)
            for pipe in pipes:
                os.close(pipe)
            ended = os.pidfd_open(pid)

            def kill() -> None:
                with contextlib.suppress(KeyError, ProcessLookupError):  # it has just ended
                    ready.unregister(waiting)
                    os.kill(pid, signal.SIGKILL)

            def end() -> None:
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(KeyError):
                    ready.unregister(waiting)
                with waiting, contextlib.suppress(OSError):
                    waiting.send(bytes([status % 256]))
                ready.unregister(ended)
                os.close(ended)

            ready.register(waiting, selectors.EVENT_READ, kill)
            ready.register(ended, selectors.EVENT_READ, end)

        listener.bind(address)
        listener.listen(64)
        ready.register(listener, selectors.EVENT_READ, begin)
        ready.register(0, selectors.EVENT_READ, lambda: os.killpg(0, signal.SIGKILL))
        print("ready", flush=True)
        while True:
            for key, _ in ready.select():
                key.data()


def _run(pipes: list[int], words: list[str], folder: str, variables: dict[str, str]) -> None:
    """Be the program that is ordered; of what is open here it keeps only its pipes."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
    os.closerange(3, 1024)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    status = 1
    try:
        _be(words)
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError, OSError):  # the program has closed it, or nobody reads
                stream.flush()
        os._exit(status)


def _be(words: list[str]) -> None:
    """What Python does with these words."""
    if words[0] == "-c":
        code, sys.argv, sys.path[0] = words[1], ["-c", *words[2:]], ""
    else:
        with open(words[0], encoding="utf-8") as file:
            code = file.read()
        sys.argv, sys.path[0] = words, os.path.dirname(os.path.abspath(words[0]))
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = words[0]
    exec(compile(code, words[0], "exec"), main.__dict__)


if __name__ == "__main__" and sys.argv[1] == "serve":
    serve(sys.argv[2], sys.argv[3:])
elif __name__ == "__main__":
    sys.exit(start(sys.argv[1], sys.argv[2:]))
