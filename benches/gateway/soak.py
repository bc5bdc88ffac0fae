#!/usr/bin/env python3
"""Mixed load with faults against one server: every dialect, whole and streamed, with tools and without; keys at their
limits and budgets; providers that fail, hang, break off and go away; clients that leave.

At the end every request had an end, memory and descriptors are flat, and the ledger is the sum of the answers. Exit
code 1 where something does not hold.

  benches/gateway/soak.py --muster target/release/muster [--minutes 10] [--rate 60] [--clients 24]
"""

import argparse
import asyncio
import os
import pathlib
import random
import sys
import tempfile
import time

from soaking import checks, fixture, ledger, traffic, watch

WARM_UP_SECS = 120


async def soak(muster, seconds, rate, clients, seed, folder):
    """Warms up, pauses, runs the load, pauses. Returns the lines of the checks and the records of the requests."""
    built = await fixture.build(muster, folder, seed)
    records, samples = [], []
    try:
        warm = min(WARM_UP_SECS, seconds / 5)
        await traffic.load(built, warm, clients, rate, seed, records)
        before = await watch.quiet(built)
        watching = asyncio.ensure_future(watch.watch(built.server.pid, samples, min(1, seconds / 50)))
        await traffic.load(built, seconds - warm, clients, rate, seed + clients, records)
        watching.cancel()
        after = await watch.quiet(built)
        booked = await ledger.read(built)
        code = await asyncio.to_thread(built.stop)
        log = built.logged()
    finally:
        built.end()
    lines = [
        *checks.ends(records),
        *checks.happened(records),
        *checks.refusals(records),
        *checks.rate_limit(records),
        *ledger.check(records, booked, built.prices),
        *checks.memory(samples, seconds),
        *checks.descriptors(before, after, clients, os.cpu_count() or 1),
        *checks.stopped(code, log),
    ]
    return lines, records


def report(lines):
    for line in lines:
        print(f"  {'ok    ' if line.holds else 'BREACH'}  {line.what}: {line.figures}")
    return sum(not line.holds for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=60, help="requests a second, of all clients")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    args = parser.parse_args()
    print(f"soak of {args.minutes:g} minutes, {args.rate:g} requests a second, {args.clients} clients, "
          f"seed {args.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        pending = soak(args.muster, args.minutes * 60, args.rate, args.clients, args.seed, pathlib.Path(folder))
        lines, records = asyncio.run(pending)
    breaches = report(lines)
    print(f"{len(records)} requests in {time.monotonic() - began:.0f} s, {breaches} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
