"""`make soak`: many real servers, of which some hang, crash and flood, and callers on several event loops.

    python tests/torture/mcp_soak/run.py --seconds 180 --servers 50 --seed 7 --store

It fails when an answer belongs to another question, a call that may act runs twice (or runs although the hub reports
`not_sent`), an await outlives its limit by more than the grace, memory grows after the first third, or a process, thread or
descriptor is left at the end. The seed decides what is called and what the servers do; only the timing differs when it is
run again.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

from fleet import Restarts, Spec, end, marked, plan, zombies
from load import Caller, Callers, Record

from toolhub import ToolHub

# The last part of the run, in which memory is compared with that after the warm-up.
WINDOW = 0.1
GROWTH_KIB = 16_000


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    env = os.environ.get
    parser.add_argument("--seconds", type=float, default=float(env("SOAK_SECONDS") or 180))
    parser.add_argument("--servers", type=int, default=int(env("SOAK_SERVERS") or 50))
    parser.add_argument("--threads", type=int, default=int(env("SOAK_THREADS") or 4))
    parser.add_argument("--callers", type=int, default=int(env("SOAK_CALLERS") or 6), help="in each thread")
    parser.add_argument(
        "--grace", type=float, default=float(env("SOAK_GRACE") or 5), help="seconds beyond a limit"
    )
    seed = env("SOAK_SEED")
    parser.add_argument(
        "--seed", type=int, default=int(seed) if seed else random.SystemRandom().randrange(2**32)
    )
    parser.add_argument("--store", action="store_true", help="keep lists, statistics and results in a store")
    parser.add_argument(
        "--any-memory", action="store_true", help="do not judge the memory: the run is too short"
    )
    return parser.parse_args()


def resident() -> int:
    """KiB"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def threads_and_descriptors() -> tuple[int, Counter[str]]:
    gc.collect()
    kinds: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        kinds[target.partition(":")[0] if ":" in target else target] += 1
    return len(os.listdir("/proc/self/task")), Counter({k: n for k, n in kinds.items() if "/fd" not in k})


class Soak:
    """One run, and what it found."""

    def __init__(self, wanted: argparse.Namespace, folder: Path) -> None:
        self._wanted, self._folder = wanted, folder
        self._mark = f"{os.getpid()}-{wanted.seed}"
        self._ran = folder / "ran"
        self._specs = plan(wanted.servers, wanted.seed, self._mark, self._ran)
        self._record = Record(folder / "acts")
        self.found: list[str] = []

    def run(self) -> None:
        self._once()  # what is made once and stays, such as the pool of threads, is there before it is counted
        before = threads_and_descriptors()
        store = {"store": self._folder / "hub.db"} if self._wanted.store else {}
        hub = ToolHub(limits={"breaker_threshold": 0}, seed=self._wanted.seed, **store)
        try:
            with Restarts(self._specs, random.Random(self._wanted.seed)) as restarts:
                for spec in self._specs:
                    hub.add_server(spec.label, **spec.how())
                self._storm(hub)
                restarts.calm()
                print(f"{restarts.count} restarts over HTTP")
                asyncio.run(self._after(hub))
                hub.close()
        finally:
            hub.close()
            del hub
        self._judge_answers()
        self._judge_leaks(before)

    def _once(self) -> None:
        spec = next(spec for spec in self._specs if spec.is_steady)

        async def main() -> None:
            async with ToolHub() as hub:
                hub.add_server(spec.label, **spec.how())
                assert (await hub.execute("echo", {"payload": "first"}, deadline=60)).success

        asyncio.run(main())

    def _storm(self, hub: ToolHub) -> None:
        wanted = self._wanted
        callers = Callers(
            [
                [
                    Caller(hub, self._specs, self._record, f"{thread}.{one}", wanted.seed, wanted.grace)
                    for one in range(wanted.callers)
                ]
                for thread in range(wanted.threads)
            ]
        )
        begun, samples = time.monotonic(), list[tuple[float, int]]()
        callers.start()
        while (passed := time.monotonic() - begun) < wanted.seconds and not callers.over.is_set():
            samples.append((passed / wanted.seconds, resident()))
            callers.over.wait(min(1.0, wanted.seconds / 50))
        if not callers.stop(60 + wanted.grace):
            faulthandler.dump_traceback(all_threads=True)
            self.found.append("a caller hangs: its await does not end")
        self.found += [f"a caller failed: {error!r}" for error in callers.errors]
        self._judge_memory(samples)

    async def _after(self, hub: ToolHub) -> None:
        """When the storm is over, every server that is healthy answers, and announces a change that arrives."""
        await asyncio.gather(*(self._is_well(hub, spec) for spec in self._specs if spec.mode == "healthy"))

    async def _is_well(self, hub: ToolHub, spec: Spec) -> None:
        limit = time.monotonic() + 90
        while not (
            result := await hub.execute("echo", {"payload": "x"}, server=spec.label, deadline=30)
        ).success:
            # A server over HTTP may rest after its last restart.
            if spec.is_steady or time.monotonic() > limit:
                self.found.append(f"{spec.label} does not answer after the storm: {result.error}")
                return
            await asyncio.sleep(0.5)
        name = f"late_{spec.mode}"
        toggled = await hub.execute("toggle", {"name": name}, server=spec.label, deadline=30)
        # Servers without descriptions have namesakes, which are told apart.
        listed = {name, f"{spec.label}__{name}"}
        while listed.isdisjoint(tool.name for tool in hub.tools(server=spec.label)):
            if time.monotonic() > limit:
                self.found.append(
                    f"{spec.label} announced a new tool ({toggled.success}), which is not listed"
                )
                return
            await asyncio.sleep(0.1)

    def _judge_answers(self) -> None:
        record, ran = self._record, Counter[str]()
        if self._ran.exists():
            ran.update(self._ran.read_text().split())
        said = dict(line.split() for line in record.acts.read_text().splitlines())
        twice = [payload for payload, count in ran.items() if count > 1]
        denied = [payload for payload, outcome in said.items() if outcome == "not_sent" and ran[payload]]
        lost = [payload for payload, outcome in said.items() if outcome == "done" and not ran[payload]]
        for what, payloads in (("ran twice", twice), ("ran, but was reported as not sent", denied)):
            self.found += [f"act {payload} {what}" for payload in payloads[:5]]
        self.found += [f"act {payload} was answered, but never ran" for payload in lost[:5]]
        self.found += [f"wrong: {text}" for text in record.wrong[:10]]
        self.found += [f"late: {text}" for text in record.late[:10]]
        outcomes = Counter(said.values())
        print(
            f"{sum(record.calls.values())} calls: "
            + ", ".join(f"{k} {n}" for k, n in sorted(record.calls.items()))
        )
        print(
            f"{len(said)} acts: {dict(outcomes)}; the latest await ended {record.slowest:+.2f} s after its limit"
        )

    def _judge_memory(self, samples: list[tuple[float, int]]) -> None:
        warm = [kib for at, kib in samples if 1 / 3 <= at < 1 / 3 + WINDOW]
        last = [kib for at, kib in samples if at >= 1 - WINDOW]
        if not warm or not last:
            self.found.append("the run was too short to measure memory")
            return
        growth = median(last) - median(warm)
        tenths = [[kib for at, kib in samples if int(at * 10) == tenth] for tenth in range(10)]
        print(
            "resident MB in each tenth: " + " ".join(f"{median(part) / 1e3:.1f}" for part in tenths if part)
        )
        print(
            f"resident {median(warm):.0f} KiB after the warm-up, {median(last):.0f} KiB at the end ({growth:+.0f})"
        )
        if growth > GROWTH_KIB and not self._wanted.any_memory:
            self.found.append(f"memory grew by {growth:.0f} KiB")

    def _judge_leaks(self, before: tuple[int, Counter[str]]) -> None:
        limit = time.monotonic() + 20
        while True:
            threads, descriptors = threads_and_descriptors()
            left = {
                "processes": marked(self._mark),
                "zombies": zombies(),
                "threads": threads - before[0] if threads > before[0] else 0,
                "descriptors": dict(descriptors - before[1]),
            }
            if not any(left.values()) or time.monotonic() > limit:
                break
            time.sleep(0.1)
        self.found += [f"left behind: {what}: {which}" for what, which in left.items() if which]
        end(marked(self._mark))


def main() -> int:
    wanted = options()
    faulthandler.enable()
    faulthandler.dump_traceback_later(wanted.seconds + 600, exit=True)
    print(
        f"seed {wanted.seed}, {wanted.seconds:.0f} s, {wanted.servers} servers, {wanted.threads} threads with "
        f"{wanted.callers} callers, {'with' if wanted.store else 'without'} a store",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="toolhub-soak-") as folder:
        soak = Soak(wanted, Path(folder))
        soak.run()
    if not soak.found:
        print("all held")
        return 0
    print("\n".join(soak.found))
    store = " --store" if wanted.store else ""
    print(
        f"FAILED: run.py --seed {wanted.seed} --servers {wanted.servers} --seconds {wanted.seconds:.0f}{store}"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
