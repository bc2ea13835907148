"""`make torture`: random scenarios against the contract, for minutes, with seeds that can be replayed.

Each scenario runs again and again until its share of the time is over. A failure prints the scenario and the seed of its
round; `TORTURE_ONLY=<scenario> TORTURE_SEED=<seed> make torture` runs that round first.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import sys
import time
import traceback
from collections.abc import Callable

import calls
import endurance
import processes
import sharing
import stores

# One round: it raises when the contract is broken, and may say what it measured.
Round = Callable[[random.Random], str | None]

SCENARIOS: dict[str, Round] = {
    "strategies": calls.strategies,
    "cancellations": calls.cancellations,
    "registry": calls.registry,
    "closing": calls.closing,
    "limits": sharing.limits,
    "single_flight": sharing.single_flight,
    "cache": sharing.cache,
    "kills": stores.kills,
    "damaged_stores": stores.damaged_stores,
    "exits": processes.exits,
    "forks": processes.forks,
    "pool": endurance.pool,
    "soak": endurance.soak,
    "gil": endurance.gil,
}

# A round that takes longer hangs: its stacks are printed and the process ends.
LONGEST_ROUND = 300


def main() -> int:
    """Run all scenarios; the status is 1 when one has failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("TORTURE_SECONDS") or 120))
    seed = os.environ.get("TORTURE_SEED")
    parser.add_argument(
        "--seed", type=int, default=int(seed) if seed else random.SystemRandom().randrange(2**32)
    )
    parser.add_argument("--only", default=os.environ.get("TORTURE_ONLY") or None, help=", ".join(SCENARIOS))
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        parser.error(f"unknown scenarios: {', '.join(sorted(unknown))}")
    print(f"seed {options.seed}, {options.seconds:.0f} s in all", flush=True)
    failed = [name for name in names if not run(name, options.seed, options.seconds / len(names))]
    print("failed: " + ", ".join(failed) if failed else "all held")
    return 1 if failed else 0


def run(name: str, seed: int, seconds: float) -> bool:
    """Repeat one scenario for some seconds, at least once."""
    end = time.monotonic() + seconds
    rounds, said = 0, None
    while rounds == 0 or time.monotonic() < end:
        faulthandler.dump_traceback_later(LONGEST_ROUND, exit=True)
        try:
            said = SCENARIOS[name](random.Random(seed)) or said
        except BaseException as error:
            traceback.print_exc()
            print(f"FAILED: TORTURE_ONLY={name} TORTURE_SEED={seed} make torture", flush=True)
            if isinstance(error, KeyboardInterrupt):
                raise
            return False
        finally:
            faulthandler.cancel_dump_traceback_later()
        rounds, seed = rounds + 1, seed + 1
    print(f"{name:15} {rounds} rounds{f', {said}' if said else ''}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
