#!/usr/bin/env python3
"""Mixed load with faults against one server: every dialect, whole and streamed, with tools and without; keys at their
limits and budgets; providers that fail, hang, break off and go away; clients that leave. In the second half clients that
mean harm come on top: slow and unfinished bodies, large nested ones, floods of names, connections that are only held.

At the end every request had an end, memory and descriptors are flat while there is no harm and bounded while there is,
the p99 of good requests has at most doubled, and the ledger is the sum of the answers. Exit code 1 where something does
not hold.

  benches/gateway/soak.py --muster target/release/muster [--minutes 10] [--rate 60] [--clients 24] [--peaceful]
"""

import argparse
import asyncio
import os
import pathlib
import random
import sys
import tempfile
import time

from soaking import checks, fixture, hostile, ledger, siege, traffic, watch

WARM_UP_SECS = 120


async def soak(muster, seconds, rate, clients, seed, folder, harm=None):
    """Warms up, pauses, runs the load, pauses; with `harm`, a [`Harm`], the load goes on for as long with hostile clients.
    Returns the lines of the checks and the records of the requests."""
    built = await fixture.build(muster, folder, seed)
    records, samples, calm = [], [], seconds / 2 if harm else seconds
    try:
        warm = min(WARM_UP_SECS, calm / 5)
        await traffic.load(built, warm, clients, rate, seed, records)
        before = await watch.quiet(built)
        watching = asyncio.ensure_future(watch.watch(built.server.pid, samples, min(1, calm / 50)))
        load = lambda secs, seed: traffic.load(built, secs, clients, rate, seed, records)  # noqa: E731
        if harm:
            await harm.around(built, load, calm - warm, seconds - calm, seed)
        else:
            await load(calm - warm, seed + clients)
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
        *ledger.check(records, booked, built.prices, built.away),
        *checks.memory([sample for sample in samples if not harm or sample.at < harm.phases[1][0]], calm),
        *(harm.check(records, samples, after, built.away) if harm else ()),
        *checks.descriptors(before, after, clients, os.cpu_count() or 1),
        *checks.stopped(code, log),
    ]
    return lines, records


class Harm:
    """The hostile half of a soak, and what is measured around it."""

    def __init__(self):
        self.phases, self.health, self.attempts, self.metrics, self.reply = [], [], [], [], ""
        self.recovered = None

    async def around(self, built, load, calm, hostile_secs, seed):
        """A calm phase, then one with hostile clients."""
        keys = await hostile.keys(built.port)
        watching = asyncio.ensure_future(hostile.watch_health(built.port, self.health))
        began = time.monotonic()
        await load(calm, seed + 1000)
        self.metrics.append(await hostile.metrics_bytes(built.port))
        turned = time.monotonic()
        hostility = hostile.Process()
        await hostility.start(built.port, keys, seed)
        await load(hostile_secs, seed + 2000)
        self.phases = [(began, turned), (turned, time.monotonic())]
        self.reply = await hostile.command_of_another_key(built.port, keys["other socket"])
        self.attempts = await hostility.stop()
        self.recovered = await hostile.recovered(built.port)
        watching.cancel()
        self.metrics.append(await hostile.metrics_bytes(built.port))

    def check(self, records, samples, after, away):
        yield from siege.latency(records, self.phases, away)
        yield from siege.health(self.health, self.phases)
        yield from siege.memory(samples, self.phases, after)
        yield from siege.attempts(self.attempts)
        yield from siege.recovery(self.recovered)
        yield from siege.tables(*self.metrics, self.reply)


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
    parser.add_argument("--peaceful", action="store_true", help="without hostile clients")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    args = parser.parse_args()
    print(f"soak of {args.minutes:g} minutes, {args.rate:g} requests a second, {args.clients} clients, "
          f"seed {args.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        pending = soak(args.muster, args.minutes * 60, args.rate, args.clients, args.seed, pathlib.Path(folder),
                       None if args.peaceful else Harm())
        lines, records = asyncio.run(pending)
    breaches = report(lines)
    print(f"{len(records)} requests in {time.monotonic() - began:.0f} s, {breaches} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
