#!/usr/bin/env python3
"""Durable tasks over HTTP: clients that run an agent which does nothing, each task to its end, with and without
monitors that watch all of it; then kill -9 and the time to be ready again. Then controls of thousands of tasks that are
in the middle of their models' answers (`control.py`), at a model's usual rate and as fast as the server reads it.

Needs release builds of `muster` and of the examples `task_load` and `task_control`. A task counts once its client was
notified of its end. Recovery, memory and kills without HTTP are measured by `cargo bench -p muster-tasks --bench
tasks`.
Wall-clock figures of a shared machine are lower bounds.

  benches/tasks/run.py --target target [--secs 5] [--monitors 100] [--running 5000] [--only load|control] [--json FILE]
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

import control
from server import KEY, SETTINGS, free_port, killed_on_failure, start

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = "1,64,512"


def load(binary, port, pid, args, clients, monitors):
    command = [binary, "--url", f"http://127.0.0.1:{port}", "--key", KEY, "--secs", args.secs, "--clients", clients,
               "--monitors", monitors, "--pid", pid]
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def print_line(line):
    output = f"{line['events_s']:10.0f} events/s" if line["monitors"] else ""
    print(f"  {line['clients']:5} clients {line['tasks_s']:8.0f} tasks/s  p50 {line['p50_ms']:7.2f} ms  "
          f"p99 {line['p99_ms']:7.2f} ms  {line['cpu_us_task'] or 0:7.0f} us CPU a task {output}  {line['errors'] or ''}")


def throughput(muster, loader, args):
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.toml").write_text(SETTINGS.format(agents=HERE / "agents.toml", slots=1024))
        port = free_port()
        server, _ = start(muster, folder, port)
        with killed_on_failure(server):
            print("durable tasks that do nothing, each to its end")
            results["alone"] = load(loader, port, server.pid, args, CLIENTS, 0)
            for line in results["alone"]:
                print_line(line)
            print(f"the same with {args.monitors} monitors")
            results["watched"] = load(loader, port, server.pid, args, "64", args.monitors)
            for line in results["watched"]:
                print_line(line)
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
    aims = [("tasks/s", best >= 1500, f"{best:.0f}, aim 1500"), ("p50 of one client", idle < 5, f"{idle:.2f}, aim 5 ms")]
    return results, aims


def controls(muster, loader, args):
    print("controls of tasks whose models talk")
    lines, aims = [], []
    for rate in args.rates.split(","):
        line = control.measure(muster, loader, args.running, args.monitors, float(rate), args.kills)
        control.print_line(line)
        lines.append(line)
        aims.extend(control.aims(line))
    return {"controls": lines}, aims


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--profile", default="release")
    parser.add_argument("--secs", type=float, default=5, help="of each measurement")
    parser.add_argument("--monitors", type=int, default=100)
    parser.add_argument("--running", type=int, default=5000, help="tasks that run while others are controlled")
    parser.add_argument("--kills", type=int, default=500, help="of them, that are killed one after the other")
    parser.add_argument("--rates", default="2,4", help="words a second of each model; 0: as many as are taken")
    parser.add_argument("--only", choices=["load", "control"])
    parser.add_argument("--json", type=pathlib.Path, help="write every figure there")
    args = parser.parse_args()
    built = args.target.resolve() / args.profile
    muster, loader, controller = built / "muster", built / "examples" / "task_load", built / "examples" / "task_control"
    parts = {"load": (throughput, loader), "control": (controls, controller)}
    results, aims = {}, []
    for name, (part, binary) in parts.items():
        if args.only not in (None, name):
            continue
        for needed in (muster, binary):
            if not needed.exists():
                raise SystemExit(f"{needed} is not built: run make bench-tasks")
        output, aimed = part(muster, binary, args)
        results.update(output)
        aims.extend(aimed)
    print("\naims")
    for what, met, figure in aims:
        print(f"  {what:<36} {'met' if met else 'MISSED'}  {figure}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
