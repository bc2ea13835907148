"""One life of a process with a hub and a store: `lives.py how path`."""

import os
import sys
import threading

from toolhub import ToolHub

how, path = sys.argv[1:]


def count(hub: ToolHub) -> int:
    rows = hub.stats(rows=True)
    return rows[0]["calls"] if rows else 0


def counting(path: str) -> ToolHub:
    hub = ToolHub(store=path)
    hub.register(len, name="length")
    return hub


hub = counting(path)
for _ in range(100):
    hub.call("length", {"obj": "abc"})

match how:
    case "closed":
        hub.close()
    case "left":  # neither closed nor collected when the interpreter ends
        globals()["circle"] = [hub]
    case "collected":
        del hub
    case "killed":
        assert hub.flush()
        for _ in range(50):
            hub.call("length", {"obj": "abc"})
        print("flushed", flush=True)
        while True:
            hub.call("length", {"obj": "abc"})
    case "forked":
        child = os.fork()
        if child == 0:
            try:
                hub.flush()
                sys.exit("a hub of the parent has written in the child")
            except RuntimeError as error:
                if "before a fork" not in str(error):
                    raise
            own = counting(path)
            for _ in range(10):
                own.call("length", {"obj": "abc"})
            own.close()
            del hub
            sys.exit(0)
        for _ in range(1000):
            hub.call("length", {"obj": "abc"})
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        hub.close()
    case "removed":  # while no file is open, as it is after a fork
        assert hub.flush()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        os.remove(path)
        hub.call("length", {"obj": "abc"})
        hub.close()
    case "forking":  # children come and go while the parent writes
        for _ in range(20):
            hub.call("length", {"obj": "abc"})
            child = os.fork()
            if child == 0:
                own = counting(path)
                own.call("length", {"obj": "abc"})
                own.close()
                os._exit(0)
            hub.flush()
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        hub.close()
    case "busy":  # other threads call and write all the time
        stop, made = threading.Event(), [0, 0]

        def work(number: int) -> None:
            while not stop.is_set():
                hub.call("length", {"obj": "abc"})
                made[number] += 1
                if number == 0:
                    hub.flush()

        threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            child = os.fork()
            if child == 0:
                own = counting(path)
                own.call("length", {"obj": "abc"})
                own.close()
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        stop.set()
        for thread in threads:
            thread.join()
        hub.close()
        with counting(path) as later:
            assert count(later) == 100 + sum(made) + 10, (count(later), made)
