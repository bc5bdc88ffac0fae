#!/usr/bin/env python3
"""The medical interface over HTTP: lookups of protocols by 1 and by 64 clients, and at an even rate, the start of the server, its memory.

Needs release builds of `muster` and of the example `medical_load`. What an assessment costs without HTTP, how long the
knowledge base takes to parse and what it takes of memory is `cargo bench -p muster-medical`. Wall-clock figures of a shared
machine are lower bounds.

  benches/medical/run.py --target target [--secs 5] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEY = "mst_benchbenchaa_" + "b" * 43
# Lookups a second that are due at even times: the latency of a server that is not saturated.
RATE = 2000
SETTINGS = """[store]
path = "data"
[llm]
model = "none"
[limits]
medical = "unlimited"
[limits.agent]
health = "unlimited"
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(binary, folder):
    """The process, its address, and the seconds until it answered."""
    (folder / "config.toml").write_text(SETTINGS)
    url = f"http://127.0.0.1:{free_port()}"
    begun = time.monotonic()
    with open(folder / "muster.log", "ab") as log:
        command = [binary, "serve", "--config", "config.toml", "--listen", url.removeprefix("http://")]
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, "MUSTER_BOOTSTRAP_KEY": KEY}, stdout=log, stderr=log)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url + "/api/medical/clinical-protocols", headers={"x-api-key": KEY})
    while time.monotonic() < begun + 60 and process.poll() is None:
        try:
            with opener.open(request, timeout=5) as answer:
                details = json.load(answer)["details"]
                return process, url, time.monotonic() - begun, details
        except (OSError, urllib.error.URLError):
            time.sleep(0.01)
    raise SystemExit((folder / "muster.log").read_text(errors="replace")[-2000:])


def resident(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    release = args.target.resolve() / "release"
    with tempfile.TemporaryDirectory() as name:
        process, url, seconds, details = start(release / "muster", pathlib.Path(name))
        try:
            print(f"  {details['protocols']} protocols, {details['redFlagRules']} rules; answers after {seconds:.2f} s, "
                  f"{resident(process.pid) >> 20} MiB resident")
            command = [release / "examples/medical_load", "--url", url, "--key", KEY, "--secs", str(args.secs),
                       "--pid", str(process.pid)]
            lines = []
            for load in (["--clients", "1,64"], ["--clients", "64", "--rate", str(RATE)]):
                done = subprocess.run([str(part) for part in command + load], check=True, capture_output=True, text=True)
                lines += [json.loads(line) | {"load": " ".join(load[2:])} for line in done.stdout.splitlines()]
            for line in lines:
                print(f"  {line['clients']:4} clients {line['load']:11} {line['calls_s']:8.0f} lookups/s  p50 {line['p50_ms']:6.2f} ms  "
                      f"p99 {line['p99_ms']:6.2f} ms  {line['cpu_us_call']:5.0f} us CPU a lookup  {line['errors'] or ''}")
            print(f"  {resident(process.pid) >> 20} MiB resident after load")
            if args.json:
                args.json.write_text(json.dumps({"start_s": seconds, "lines": lines}))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


if __name__ == "__main__":
    main()
