#!/usr/bin/env python3
"""The gateway beside its floors, in one run: the upstream direct, a bare relay, and Muster with everything on, for a key
with limits and a budget and for one without.

Needs release builds of `muster` and of the example `bare_relay`. Each figure is the median of short rounds in which the
sides take turns. Quote the ratios: wall-clock figures of a shared machine are lower bounds. With --before, an older build
takes turns too, and the figures of both are compared.

  benches/gateway/run.py --target target [--secs 1] [--rounds 3] [--before OLDER/target] [--json FILE]
"""

import argparse
import json
import pathlib
import sys
import tempfile

import bench
import table

# The sides beside "muster", whose key has limits and a budget.
UNLIMITED, BEFORE = "no limits", "before"
CONNECTIONS = {"whole": (1, 16, 64, 256), "stream": (1, 16, 64, 256), "paced": (1, 16)}


def arguments(description, rounds, secs):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=secs, help=f"of each round, {secs} by default")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"of each measurement, {rounds} by default")
    parser.add_argument("--json", type=pathlib.Path, help="write every figure there")
    parser.add_argument("--before", type=pathlib.Path, help="target folder of an older build, to compare with")
    return parser.parse_args()


def prepare(target):
    """The folder of the built tools, and the binaries."""
    target = target.resolve()
    binaries = target / "release" / "muster", target / "release" / "examples" / "bare_relay"
    for binary in binaries:
        if not binary.exists():
            raise SystemExit(f"{binary} is not built: run make bench")
    return bench.build_tools(target), *binaries


def measure_all(args, tools, sides, connections):
    """Prints as it measures. A list of figures with their load, side and connections."""
    results = []
    for load in bench.LOADS:
        table.head(load.label)
        participants = [side for side in sides if load.kind in side.loads]
        for count in connections[load.kind]:
            by_side = bench.measure(tools, participants, load, count, args.secs, args.rounds)
            table.lines(count, by_side)
            results += [{"load": load.kind, "side": name, "connections": count, **got} for name, got in by_side.items()]
    return results


def verdict(results, loaded_kib):
    """Each aim beside what was measured."""
    by_run = {(run["load"], run["side"], run["connections"]): run for run in results}

    def added(load, figure, side):
        return by_run[load, side, 1][figure] - by_run[load, "direct", 1][figure]

    def cpu(load, figure, side):
        return by_run[load, side, 16][figure]

    aims = [
        ("CPU us a request, 16 connections", lambda side: cpu("whole", "cpu_us_req", side), 60),
        ("added p50 us at one connection", lambda side: added("whole", "p50", side), 100),
        ("CPU us an event, 16 connections", lambda side: cpu("stream", "cpu_us_event", side), 4),
        ("added first token us, paced", lambda side: added("paced", "ttft_p50", side), 300),
        ("added between-token p99 us, paced", lambda side: added("paced", "itl_p99", side), None),
    ]
    print("\naims")
    for what, figure, aim in aims:
        ours = figure("muster")
        print(f"  {what:36} {ours:8.1f}  {aim_text(ours, aim):18} (bare relay {figure('bare relay'):.1f})")
    print(f"  {'resident MiB after the load':36} {loaded_kib / 1024:8.1f}  {aim_text(loaded_kib / 1024, 64)}")


def compare(results):
    """Prints what the older build took of each figure beside the newer one."""
    by_run = {(run["load"], run["side"], run["connections"]): run for run in results}
    if not any(run["side"] == BEFORE for run in results):
        return
    print("\nafter / before")
    for (load, side, count), before in by_run.items():
        if side != BEFORE:
            continue
        after = by_run[load, "muster", count]
        ratios = (f"{what} {table.ratio(after[what], before[what])}" for what in ("cpu_us_req", "p50", "p99", "ttft_p50"))
        print(f"  {load:7} {count:4} connections: {', '.join(ratios)}")


def aim_text(figure, aim):
    if aim is None:
        return "no aim"
    return f"aim {aim:3}  {'met' if figure <= aim else 'MISSED'}"


def main():
    args = arguments(__doc__, rounds=3, secs=1)
    tools, muster, relay = prepare(args.target)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        processes = bench.Processes(folder)
        try:
            upstreams = bench.Upstreams(tools, processes)
            ours = bench.muster_side(muster, upstreams, processes, folder)
            idle = bench.resident_kib(ours.fast.pid)
            free = bench.muster_side(muster, upstreams, processes, folder, UNLIMITED, limited=False)
            sides = [upstreams.side(), bench.relay_side(relay, upstreams, processes), ours, free]
            if args.before:
                older = args.before.resolve() / "release" / "muster"
                sides.append(bench.muster_side(older, upstreams, processes, folder, BEFORE))
            results = measure_all(args, tools, sides, CONNECTIONS)
            loaded = bench.resident_kib(ours.fast.pid)
        finally:
            processes.end()
    print(f"\nmuster resident, without the model: {idle / 1024:.1f} MiB idle, {loaded / 1024:.1f} MiB after the load")
    verdict(results, loaded)
    compare(results)
    if args.json:
        args.json.write_text(json.dumps({"idle_rss_kib": idle, "loaded_rss_kib": loaded, "runs": results}, indent=1))
    return 1 if table.errors(results) else 0


if __name__ == "__main__":
    sys.exit(main())
