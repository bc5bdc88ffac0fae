#!/usr/bin/env python3
"""Engines: the time of each one's example and of its largest accepted input, and calls over HTTP.

Each engine runs in a process of its own (example `engine_bench`, which says how an input grows). The table has, by family:
median and 99th percentile of the example; of the slowest accepted input its size, time and memory, and which bound ended
the growth. Aims: 5 s (long engines 45 s) and 192 MiB. Then a server: start, calls a second of small engines by 1 and 64
clients, a worker's first answer and memory. Wall-clock figures of a shared machine are upper bounds.

  benches/engines/run.py --target target [--secs 5] [--family geo] [--write docs/engine-timings.md]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
from serving import call, load, resident, server  # noqa: E402

# Small pure engines of three families, by number.
SMALL = [1, 22, 108]
MOST_MS, MOST_LONG_MS, MOST_MIB = 5_000, 45_000, 192
# Seconds after which the measurement of an engine is ended.
PATIENCE = 400
HEAD = "# Timings of the engines\n\nMade by `make bench-engines`; `benches/engines/run.py` says what is measured.\n\n"
SETTINGS = """[store]
path = "data"
[llm]
model = "none"
[limits.agent]
engines = "unlimited"
health = "unlimited"
"""


def records(family):
    """The records of the catalogue, by family."""
    for path in sorted((ROOT / "engines/catalogue").glob("*.toml")):
        if family in (None, path.stem):
            yield path.stem, tomllib.loads(path.read_text())["engine"]


def measure(program, number):
    begun = time.monotonic()
    try:
        done = subprocess.run([program, str(number)], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"failed": f"ended after {PATIENCE} s"}
    if done.returncode != 0 or not done.stdout:
        return {"failed": f"exit {done.returncode} after {time.monotonic() - begun:.0f} s: {done.stderr.strip()[-200:]}"}
    return json.loads(done.stdout)


def quantity(value, *units):
    """A number with the unit that suits it; each unit is a thousand of the one before."""
    for unit in units[:-1]:
        if value < 1_000:
            return f"{value:.3g} {unit}"
        value /= 1_000
    return f"{value:.3g} {units[-1]}"


def row(engine, found):
    """The line of the table, and what of it is beyond an aim."""
    name = f"q{engine['number']} {engine['id']}"
    if "failed" in found:
        return f"| {name} | {found['failed']} | | | | | |", [f"{name}: {found['failed']}"]
    example, largest = found["example_us"], found["largest"]
    cells = [quantity(example["p50"], "µs", "ms", "s"), quantity(example["p99"], "µs", "ms", "s")] if example else ["–", "–"]
    beyond = []
    if largest:
        most = MOST_LONG_MS if found["long"] else MOST_MS
        beyond += [f"{name}: {largest['ms'] / 1e3:.1f} s for {largest['part']}"] if largest["ms"] > most else []
        beyond += [f"{name}: {largest['memory_mib']:.0f} MiB for {largest['part']}"] if largest["memory_mib"] > MOST_MIB else []
        cells += [largest["part"].replace("|", "/"), quantity(largest["bytes"], "B", "kB", "MB"), quantity(largest["ms"], "ms", "s"),
                  f"{largest['memory_mib']:.0f}"]
    else:
        cells += ["–"] * 4
    return "| " + " | ".join([name, *cells]) + " |", beyond


def engines(release, family):
    """After each family: the tables so far, and what is beyond an aim."""
    text, beyond = "", []
    for name, found in records(family):
        text += f"\n## {name}\n\n| engine | example p50 | p99 | slowest accepted input | size | time | MiB |\n|---|---|---|---|---|---|---|\n"
        for engine in found:
            line, over = row(engine, measure(release / "examples/engine_bench", engine["number"]))
            print(line, flush=True)
            text += line + "\n"
            beyond += over
        yield text, beyond


def children(pid):
    """The processes that any thread of a process started."""
    threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def over_http(release, secs):
    """Lines about the server: start, workers, calls a second."""
    examples = {engine["number"]: json.loads(engine["example"]) for _, found in records(None) for engine in found}
    with server(release / "muster", SETTINGS, "/api/health/live") as (process, url, seconds, _):
        count = len(call(f"{url}/api/engines")["engines"])
        yield f"{count} engines; the server answers after {seconds:.2f} s, {resident(process.pid) >> 20} MiB resident"
        first = next(load(release, f"{url}/api/q{SMALL[0]}/run", [examples[SMALL[0]]], process, 0.001, "--clients", "1"))
        yield f"first answer of a new worker {first['p99_ms']:.0f} ms"
        for number in SMALL:
            for line in load(release, f"{url}/api/q{number}/run", [examples[number]], process, secs, "--clients", "1,64"):
                yield (f"q{number}, {line['clients']} clients: {line['calls_s']:.0f} calls/s, p50 {line['p50_ms']:.2f} ms, "
                       f"p99 {line['p99_ms']:.2f} ms, {line['cpu_us_call']:.0f} µs CPU of the server's process a call {line['errors'] or ''}")
        private = [sum(int(line.split()[1]) for line in pathlib.Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
                       if line.startswith("Private")) / 1024 for child in children(process.pid)]
        yield f"{len(private)} workers, private memory {', '.join(f'{mib:.0f}' for mib in private)} MiB"
    yield f"the file is {(release / 'muster').stat().st_size / 1e6:.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--family", help="measures only the engines of this family, and no server")
    parser.add_argument("--write", type=pathlib.Path, help="writes the tables to this file")
    args = parser.parse_args()
    release = args.target.resolve() / "release"
    lines = [] if args.family else list(over_http(release, args.secs))
    for line in lines:
        print("  " + line, flush=True)
    for text, beyond in engines(release, args.family):
        if args.write:
            args.write.write_text(HEAD + "".join(f"- {line}\n" for line in lines) + f"\nBeyond an aim: {'; '.join(beyond) or 'none'}.\n" + text)
    print("\n".join(beyond) or "all within the aims")


if __name__ == "__main__":
    main()
