#!/usr/bin/env python3
"""The gateway beside its floors, in one run: the upstream direct, a bare relay, and Muster with everything on.

Needs the load tools of shared/bench/gateway (--tools), which are built into the target folder, and release builds of
`muster` and of the example `bare_relay`. Quote the ratios: wall-clock figures of a shared machine are lower bounds.

  benches/gateway/run.py --tools ../shared/bench/gateway --target target [--secs 5] [--json FILE]
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

KEY = "mst_benchbenchaa_" + "b" * 43
CONNECTIONS = (1, 16, 64, 256)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, what):
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"{what} ended with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
            return
        time.sleep(0.05)
    raise SystemExit(f"{what} does not answer on port {port}")


class Processes:
    """Started together, ended together."""

    def __init__(self, folder):
        self.folder, self.all = folder, []

    def start(self, name, command, port, **more):
        log = open(self.folder / f"{name}.log", "w")
        process = subprocess.Popen(command, stdout=log, stderr=log, **more)
        self.all.append(process)
        wait_for(port, process, name)
        return process

    def end(self):
        for process in reversed(self.all):
            process.terminate()
        for process in self.all:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def build_tools(source, target):
    """The tools' folder may be read-only and has no lock file: they are built from a copy."""
    if not source.is_dir():
        raise SystemExit(f"the load tools are not at {source}: say --tools FOLDER")
    copy = target / "bench-tools"
    shutil.copytree(source, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    for path in [copy, *copy.rglob("*")]:
        if "target" not in path.parts[len(copy.parts):]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=copy, check=True,
                   env={**os.environ, "CARGO_TARGET_DIR": str(copy / "target")})
    return copy / "target" / "release"


def config(folder, upstreams):
    """Every part on: an open store, a limited key, the ledger, the breaker; no embedded model."""
    providers = "".join(
        f'[[provider]]\nid = "{name}"\nkind = "openai"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
        f'api_key_env = ""\nmodels = {json.dumps(models)}\n' for name, port, models in upstreams)
    path = folder / "config.toml"
    path.write_text(f'[store]\npath = "{folder}/data"\n[llm]\nmodel = "none"\n{providers}')
    return path


def post(port, path, body, key):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"content-type": "application/json", "authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def load(tools, port, pid, connections, secs, *more, key="sk-none", model="gpt-4o-mini"):
    command = [tools / "gwload", "--url", f"http://127.0.0.1:{port}/v1/chat/completions", "--c", str(connections),
               "--secs", str(secs), "--pids", str(pid), "--model", model,
               "--header", f"Authorization: Bearer {key}", *more]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def resident_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def events_per_request(got):
    return got["events_s"] * got["secs"] / got["ok"] if got["ok"] else 0


def row(cells, widths):
    print("  ".join(str(cell).rjust(width) for cell, width in zip(cells, widths)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, default=pathlib.Path("../shared/bench/gateway"))
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="write every figure there")
    args = parser.parse_args()
    target = args.target.resolve()
    muster, relay = target / "release" / "muster", target / "release" / "examples" / "bare_relay"
    for binary in (muster, relay):
        if not binary.exists():
            raise SystemExit(f"{binary} is not built: run make bench")
    tools = build_tools(args.tools.resolve(), target)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        processes = Processes(folder)
        try:
            fast, paced, relay_port, paced_relay, ours = (free_port() for _ in range(5))
            upstream = processes.start("upstream", [tools / "mock-upstream", "--port", str(fast)], fast)
            slow = processes.start("paced", [tools / "mock-upstream", "--port", str(paced), "--ttft-us", "20000",
                                             "--itl-us", "5000", "--tokens", "32"], paced)
            bare = processes.start("relay", [relay, f"127.0.0.1:{relay_port}", f"http://127.0.0.1:{fast}"], relay_port)
            bare_slow = processes.start("paced-relay", [relay, f"127.0.0.1:{paced_relay}", f"http://127.0.0.1:{paced}"],
                                        paced_relay)
            settings = config(folder, [("fast", fast, ["gpt-4o-mini"]), ("paced", paced, ["paced"])])
            server = processes.start("muster", [muster, "serve", "--config", settings, "--listen", f"127.0.0.1:{ours}"],
                                     ours, env={**os.environ, "MUSTER_BOOTSTRAP_KEY": KEY})
            # A key with limits of its own and a budget, wide enough never to refuse.
            limits = {name: 10**12 for name in ("requests_per_minute", "requests_per_hour", "tokens_per_minute")}
            made = post(ours, "/api/v1/keys", {"name": "bench", "scopes": ["chat"], "plan_b": "enterprise",
                                               "limits": limits, "budget_usd": 1e6}, KEY)
            key = made["key"]
            idle = resident_kib(server.pid)
            sides = [("direct", fast, upstream.pid), ("bare relay", relay_port, bare.pid), ("muster", ours, server.pid)]
            results = {"idle_rss_kib": idle, "runs": []}

            def run(label, name, port, pid, connections, *more, model="gpt-4o-mini"):
                got = load(tools, port, pid, connections, args.secs, *more, key=key, model=model)
                results["runs"].append({"load": label, "side": name, "connections": connections, **got})
                return got

            show = Table(results)
            for label, more in (("whole answers", ()), ("streams of 64 tokens", ("--stream",))):
                show.head(label)
                for connections in CONNECTIONS:
                    for name, port, pid in sides:
                        show.line(name, connections, run(label, name, port, pid, connections, *more))
            show.head("paced streams (first token after 20 ms, then one each 5 ms)")
            for connections in (1, 16):
                for name, port, pid in (("direct", paced, slow.pid), ("bare relay", paced_relay, bare_slow.pid),
                                        ("muster", ours, server.pid)):
                    show.line(name, connections, run("paced", name, port, pid, connections, "--stream", model="paced"))
            results["loaded_rss_kib"] = resident_kib(server.pid)
            print(f"\nmuster resident, without the model: {idle / 1024:.1f} MiB idle, "
                  f"{results['loaded_rss_kib'] / 1024:.1f} MiB after the load")
            show.verdict()
            if args.json:
                args.json.write_text(json.dumps(results, indent=1))
        finally:
            processes.end()
    return 0


class Table:
    """What is printed, as it is measured."""

    WIDTHS = (10, 5, 9, 9, 9, 9, 9, 11, 11, 8)

    def __init__(self, results):
        self.results = results

    def head(self, label):
        print(f"\n{label}")
        row(("", "conns", "req/s", "p50 us", "p99 us", "ttft p50", "itl p99", "cpu us/req", "cpu us/ev", "errors"),
            self.WIDTHS)

    def line(self, name, connections, got):
        cpu = got["cpu_us_req"]
        events = events_per_request(got)
        row((name, connections, f"{got['rps']:.0f}", got["p50"], got["p99"], got["ttft_p50"] or "",
             got["itl_p99"] or "", f"{cpu:.1f}", f"{cpu / events:.2f}" if events else "",
             sum(got["errors"].values()) or ""), self.WIDTHS)

    def verdict(self):
        def find(label, side, connections):
            for run in self.results["runs"]:
                if (run["load"], run["side"], run["connections"]) == (label, side, connections):
                    return run
            raise KeyError((label, side, connections))

        whole, stream = "whole answers", "streams of 64 tokens"
        direct, ours = find(whole, "direct", 1), find(whole, "muster", 1)
        relay = find(whole, "bare relay", 1)
        events = find(stream, "muster", 16)
        lines = [
            ("CPU us a request, 16 connections", find(whole, "muster", 16)["cpu_us_req"], 75,
             find(whole, "bare relay", 16)["cpu_us_req"]),
            ("added p50 us at one connection", ours["p50"] - direct["p50"], 100,
             relay["p50"] - direct["p50"]),
            ("CPU us an event, 16 connections", events["cpu_us_req"] / events_per_request(events), 4,
             None),
            ("added first token us, paced", find("paced", "muster", 1)["ttft_p50"]
             - find("paced", "direct", 1)["ttft_p50"], 300, None),
            ("resident MiB after the load", self.results["loaded_rss_kib"] / 1024, 64, None),
        ]
        print("\naims")
        for what, figure, aim, floor in lines:
            said = "met" if figure <= aim else "MISSED"
            beside = "" if floor is None else f"  (bare relay {floor:.1f})"
            print(f"  {what:36} {figure:8.1f}  aim {aim:4}  {said}{beside}")


if __name__ == "__main__":
    sys.exit(main())
