#!/usr/bin/env python3
"""Durable tasks over HTTP: clients that run an agent which does nothing, each task to its end, with and without
monitors that watch all of it; then kill -9 and the time to be ready again.

Needs release builds of `muster` and of the example `task_load`. A task counts once its client was told of its end.
Recovery, memory and the time from a kill to the end of a step are measured by `cargo bench -p muster-actors --bench
tasks`. Wall-clock figures of a shared machine are lower bounds.

  benches/tasks/run.py --target target [--secs 5] [--monitors 100] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
KEY = "mst_benchbenchaa_" + "b" * 43
CLIENTS = "1,64,512"
SETTINGS = """[store]
path = "data"
[llm]
model = "none"
[agents]
files = ["{agents}"]
slots = 1024
per_key = 1024
queue_per_key = 1000000
[limits.agent]
health = "unlimited"
agents = "unlimited"
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(binary, folder, port):
    """The server, and the seconds until it was ready."""
    begun = time.monotonic()
    env = {**os.environ, "MUSTER_BOOTSTRAP_KEY": KEY}
    with open(folder / "muster.log", "ab") as log:
        command = [binary, "serve", "--config", "config.toml", "--listen", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < begun + 60 and server.poll() is None:
        try:
            opener.open(f"http://127.0.0.1:{port}/api/health/live", timeout=5)
            return server, time.monotonic() - begun
        except (OSError, urllib.error.URLError):
            time.sleep(0.02)
    raise SystemExit((folder / "muster.log").read_text(errors="replace")[-2000:])


def load(binary, port, pid, args, clients, monitors):
    command = [binary, "--url", f"http://127.0.0.1:{port}", "--key", KEY, "--secs", args.secs, "--clients", clients,
               "--monitors", monitors, "--pid", pid]
    told = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in told.splitlines()]


def shown(line):
    told = f"{line['events_s']:10.0f} events/s" if line["monitors"] else ""
    print(f"  {line['clients']:5} clients {line['tasks_s']:8.0f} tasks/s  p50 {line['p50_ms']:7.2f} ms  "
          f"p99 {line['p99_ms']:7.2f} ms  {line['cpu_us_task'] or 0:7.0f} us CPU a task {told}  {line['errors'] or ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=5, help="of each measurement")
    parser.add_argument("--monitors", type=int, default=100)
    parser.add_argument("--json", type=pathlib.Path, help="write every figure there")
    args = parser.parse_args()
    release = args.target.resolve() / "release"
    muster, loader = release / "muster", release / "examples" / "task_load"
    for binary in (muster, loader):
        if not binary.exists():
            raise SystemExit(f"{binary} is not built: run make bench-tasks")
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.toml").write_text(SETTINGS.format(agents=HERE / "agents.toml"))
        port = free_port()
        server, _ = start(muster, folder, port)
        try:
            print("durable tasks that do nothing, each to its end")
            results["alone"] = load(loader, port, server.pid, args, CLIENTS, 0)
            for line in results["alone"]:
                shown(line)
            print(f"the same with {args.monitors} monitors")
            results["watched"] = load(loader, port, server.pid, args, "64", args.monitors)
            for line in results["watched"]:
                shown(line)
        except BaseException:
            server.kill()
            raise
        tasks = sum(line["tasks"] for lines in results.values() for line in lines)
        server.send_signal(signal.SIGKILL)
        server.wait()
        server, ready = start(muster, folder, port)
        results["restart_s"] = ready
        print(f"after kill -9, with {tasks} tasks in the store: live in {ready:.2f} s")
        server.terminate()
        server.wait(60)
    best = max(line["tasks_s"] for line in results["alone"])
    idle = results["alone"][0]["p50_ms"]
    print("\naims")
    print(f"  tasks/s             {best:8.0f}  {'met' if best >= 1500 else 'MISSED'}, aim 1500")
    print(f"  p50 of one client   {idle:8.2f}  {'met' if idle < 5 else 'MISSED'}, aim 5 ms")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
