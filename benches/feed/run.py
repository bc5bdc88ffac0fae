#!/usr/bin/env python3
"""The feed beside its floor, in one run: a thread that holds sockets and nothing else, and Muster with everything on,
without TLS and with it.

Needs release builds of the examples `feed_server`, `feed_load` and `raw_hub`. The sides take turns, and each figure is
the median of the rounds. Frames of all sides are equally long. CPU and bytes are the server's; wall-clock figures of a
shared machine are lower bounds, and the load client costs about as much as a good server. Quote the ratios.

  benches/feed/run.py --target target [--secs 5] [--rounds 1] [--transports plain,tls] [--only load,stalled] [--json FILE]
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import scenes
import table
import wire

# Connections, messages a second, window of the coalesced phase.
LOADS = ((100, 20, 16), (1000, 20, 16), (10_000, 2, 4))
SUBSCRIPTIONS = "incidents,alerts,devices"
SCENES = ("load", "stalled", "revoked", "resumed", "logins", "restart")


@dataclasses.dataclass
class Side:
    """A server that runs."""

    name: str
    port: int
    control: int
    process: subprocess.Popen
    # From its start until it serves.
    ready_s: float
    # Of a server with TLS: its certificate.
    cert: pathlib.Path | None = None

    @property
    def pid(self):
        return self.process.pid


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=5, help="of each phase of a load, 5 if not summary")
    parser.add_argument("--rounds", type=int, default=1, help="of each load, 1 if not summary")
    parser.add_argument("--transports", default="plain,tls", help="of the server that is measured, default %(default)s")
    parser.add_argument("--only", default=",".join(SCENES), help=f"of {', '.join(SCENES)}")
    parser.add_argument("--connections", default="", help="loads of these only, such as 100,1000")
    parser.add_argument("--json", type=pathlib.Path, help="write every figure there")
    return parser.parse_args()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(binary, name, folder, transport=None, store=None):
    """A server, with a fresh store unless one is named; ended when left."""
    port, control = free_port(), free_port()
    store = store or folder / f"store-{time.monotonic_ns()}"
    command = [binary, port, control] + ([store, transport, 1] if transport else [])
    log = folder / f"{name}.log"
    begun = time.monotonic()
    with open(log, "wb") as out:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=out)
    try:
        until = begun + 60
        while b"listening on" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{name} does not start: {log.read_text(errors='replace')[-600:]}")
            time.sleep(0.02)
        cert = store / "cert.pem" if transport == "tls" else None
        yield Side(name, port, control, process, time.monotonic() - begun, cert)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def most():
    """Connections that a side can hold with the files that it may open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200


class Bench:
    """The built examples, and where they run."""

    def __init__(self, args, folder):
        examples = args.target.resolve() / "release" / "examples"
        self.args, self.folder = args, folder
        self.server, self.load_binary, self.hub = (examples / name for name in ("feed_server", "feed_load", "raw_hub"))
        for binary in (self.server, self.load_binary, self.hub):
            if not binary.exists():
                raise SystemExit(f"{binary} is not built: run make bench-feed")
        self.transports = [name for name in args.transports.split(",") if name]
        self.sides = ["raw floor", *self.transports]

    def start(self, name):
        if name == "raw floor":
            return served(self.hub, "raw_hub", self.folder)
        return served(self.server, f"feed_server {name}", self.folder, name)

    def load(self, side, token, **more):
        """One run of the load client."""
        words = {"port": side.port, "control": side.control, "pids": side.pid, "subs": SUBSCRIPTIONS} | more
        if token:
            words["token"] = token
        if side.cert:
            words["cert"] = side.cert
        command = [str(self.load_binary), *(f"{name}={value}" for name, value in words.items())]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise SystemExit(f"{side.name}: {done.stderr.strip()[-600:]}")
        return json.loads(done.stdout)

    def loads(self):
        """Every load on every side, in turns."""
        wanted = {int(count) for count in self.args.connections.split(",") if count}
        results = []
        for count, rate, window in LOADS:
            if wanted and count not in wanted:
                continue
            rounds = {name: [] for name in self.sides}
            for _ in range(self.args.rounds):
                for name in self.sides:
                    if count > most():
                        print(f"NOT MEASURED: {name} with {count} connections: each is an open file")
                        continue
                    with self.start(name) as side:
                        token = None if name == "raw floor" else wire.login(wire.connect(side))
                        rounds[name].append(self.load(side, token, n=count, rate=rate, window=window,
                                                      secs=self.args.secs))
            for name, got in ((name, got) for name, got in rounds.items() if got):
                figures = {key: statistics.median(run[key] or 0 for run in got) for key in got[0]}
                results.append(figures | {"side": name, "connections": count})
            table.loads(count, [run for run in results if run["connections"] == count])
        return results

    def scene(self, name, transport):
        """One of the others, on a server of its own."""
        if name == "restart":
            store = self.folder / f"restarted-{transport}"
            program = f"feed_server {transport}"
            return scenes.restarted(lambda: served(self.server, program, self.folder, transport, store))
        with self.start(transport) as side:
            token, secs = wire.login(wire.connect(side)), self.args.secs
            match name:
                case "stalled":
                    return scenes.stalled(self.load, side, token, max(20, secs))
                case "revoked":
                    return scenes.revoked(side, token, 50)
                case "resumed":
                    return scenes.resumed(side, token)
                case _:
                    return scenes.logins(side, secs)


def main():
    args = arguments()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if 0 < most < 20_100:
        print(f"{most} files may be open at a time (ulimit -n): enough for 10,000 sockets, not for much more")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    only, found = args.only.split(","), {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, pathlib.Path(folder))
        if "load" in only:
            found["load"] = bench.loads()
        for name in SCENES[1:]:
            if name in only:
                # The others do not depend on the transport.
                sides = bench.transports if name == "stalled" else bench.transports[:1]
                found[name] = {side: bench.scene(name, side) for side in sides}
                table.scene(name, found[name])
    table.aims(found, bench.transports)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
