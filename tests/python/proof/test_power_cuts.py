"""Rows of runs survive a power cut: the disk has them before anything is sent, with one sync for each group."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the syncs of a process are counted with LD_PRELOAD"
)

# Writes down when the process has synced a file, and which. SQLite uses one of the two.
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int noted(const char *name, int fd) {
    char link[64], path[4096], line[4200];
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    int done = real(fd);
    char *end = strrchr(path, '/');
    FILE *log = fopen(getenv("SYNCS"), "a");
    fprintf(log, "%s\n", end ? end + 1 : path);
    fclose(log);
    return done;
}
int fsync(int fd) { return noted("fsync", fd); }
int fdatasync(int fd) { return noted("fdatasync", fd); }
"""

PROGRAM = """
import asyncio, json, os, sys
from toolhub import ToolHub

log = os.environ["SYNCS"]
def syncs():
    return open(log).read().split().count("store.db-wal") if os.path.exists(log) else 0

hub = ToolHub(store=sys.argv[1])
seen = []
hub.register(lambda n: seen.append(syncs()) or n, name="pay", effects=True)
hub.register(lambda n: n, name="look", read_only=True)

def during(call):
    before = syncs()
    call()
    hub.ledger()   # after everything that was queued
    return syncs() - before

async def many():
    await asyncio.gather(*(hub.execute("pay", {"n": n}, run="group") for n in range(200)))

told = {"first": during(lambda: hub.call("pay", {"n": 0}, run="r"))}
told["without a run"] = during(lambda: [hub.call("pay", {"n": n}) for n in range(20)])
told["reads"] = during(lambda: [hub.call("look", {"n": n}) for n in range(20)])
before, seen[:] = syncs(), []
told["in a run"] = during(lambda: [hub.call("pay", {"n": n}, run="r") for n in range(1, 11)])
told["before each"] = [at > then for at, then in zip(seen, [before, *seen])]
told["of a group"] = during(lambda: asyncio.run(many()))
hub.close()
print(json.dumps(told))
"""


def test_the_rows_of_a_run_are_on_the_disk_before_anything_is_sent(tmp_path: Path) -> None:
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "store.db"],
        env={**os.environ, "LD_PRELOAD": str(library), "SYNCS": str(tmp_path / "syncs")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["first"] >= 1
    assert told["before each"] == [True] * 10
    # One for the row before the call, and at most one for its end.
    assert 10 <= told["in a run"] <= 20
    # Calls that are made at once share their syncs.
    assert told["of a group"] < 200
    assert told["without a run"] == told["reads"] == 0
