#!/usr/bin/env python3
"""Vision, images and translation over HTTP: time and CPU of a call, by one client and by four.

Needs a release build of `muster`, and the models of `make models`; a row whose model is absent says so. CPU is that of the
server and of the engine processes that decode pictures. Wall-clock figures of a shared machine are upper bounds.

  benches/media/over_http.py --target target [--models models-cache] [--secs 5] [--json FILE]
"""

import argparse
import base64
import http.client
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import zlib

KEY = "mst_benchbenchaa_" + "b" * 43
SETTINGS = """[store]
path = "data"
[llm]
model = "none"
cache = "{models}"
[images]
owner_pictures = 100000
owner_mib = 100000
total_mib = 100000
"""
START_S = 60
TEXT = (
    "The river rose quickly during the night, and the people of the valley had to leave their houses before the bridge was "
    "closed. The shelter at the school opens at nine; bring warm clothes, water and your medicine. "
) * 3


def png(side):
    """A colour gradient."""
    rows = b"".join(b"\0" + bytes(value for x in range(side) for value in (x % 256, y % 256, 90)) for y in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def calls(client):
    """Names of the rows with method, path and body."""
    picture = base64.b64encode(png(1024)).decode()
    translate = "POST", "/api/translate"
    prompt = {"prompt": "three red boats on the sea at night", "seed": 7}
    rows = [
        ("translate a name (dictionary)", *translate, {"text": "dog face", "from": "en", "to": "de"}),
        ("translate, language detected", *translate, {"text": TEXT, "to": "en"}),
        (f"translate {len(TEXT.split())} words (neural)", *translate, {"text": TEXT, "from": "en", "to": "pt"}),
        ("languages", "GET", "/api/languages", None),
        ("describe 1024² (facts, objects, text)", "POST", "/api/vision", {"image": picture, "task": "describe"}),
        ("detect 1024²", "POST", "/api/vision", {"image": picture, "task": "detect"}),
        ("moderate 1024²", "POST", "/api/vision", {"image": picture, "task": "moderate"}),
        ("draw 1024² (sketch)", "POST", "/api/generate-image", prompt),
        ("draw 1024² hd (sketch)", "POST", "/api/generate-image", prompt | {"quality": "hd"}),
    ]
    status, answer = client.call("POST", "/api/generate-image", prompt)
    if status == 200:
        rows.append(("a stored picture", "GET", f"/api/images/{json.loads(answer)['image']['id']}", None))
    return rows


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method, path, body):
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def start(binary, models, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "config.toml").write_text(SETTINGS.format(models=models))
    command = [binary, "serve", "--config", "config.toml", "--listen", f"127.0.0.1:{port}"]
    environment = {**os.environ, "MUSTER_BOOTSTRAP_KEY": KEY}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watchdog = threading.Timer(START_S, process.kill)
    watchdog.start()
    for line in process.stdout:
        if line.startswith("listening on "):
            watchdog.cancel()
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, port
    raise SystemExit("the server did not start")


def cpu_s(pid):
    """CPU of a process and of its children, in seconds."""
    total, tick = 0, os.sysconf("SC_CLK_TCK")
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = stat.read_text().split(" ", 1)
        except (OSError, ValueError):
            continue
        fields = rest.rsplit(")", 1)[-1].split()
        if int(number) == pid or int(fields[1]) == pid:
            total += int(fields[11]) + int(fields[12])
    return total / tick


def measure(port, pid, row, clients, secs):
    _, method, path, body = row
    times, failed, until = [], [], time.monotonic() + secs

    def work():
        client = Client(port)
        while time.monotonic() < until:
            begun = time.monotonic()
            status, answer = client.call(method, path, body)
            if status != 200:
                failed.append(json.loads(answer)["error"]["code"])
                return
            times.append(time.monotonic() - begun)

    before, begun = cpu_s(pid), time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed or not times:
        return {"clients": clients, "failed": sorted(set(failed))}
    times.sort()
    return {
        "clients": clients,
        "calls_s": len(times) / (time.monotonic() - begun),
        "p50_ms": times[len(times) // 2] * 1e3,
        "p99_ms": times[int((len(times) - 1) * 0.99)] * 1e3,
        "cpu_ms_call": (cpu_s(pid) - before) * 1e3 / len(times),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path("models-cache"))
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    binary, found = args.target.resolve() / "release" / "muster", {}
    with tempfile.TemporaryDirectory() as name:
        process, port = start(binary, args.models.resolve(), pathlib.Path(name))
        try:
            for row in calls(Client(port)):
                # Loads the model.
                Client(port).call(*row[1:])
                for clients in (1, 4):
                    line = measure(port, process.pid, row, clients, args.secs)
                    found.setdefault(row[0], []).append(line)
                    if "failed" in line:
                        print(f"  {row[0]:40} {', '.join(line['failed'])}")
                        break
                    print(f"  {row[0]:40} {clients:2} clients {line['calls_s']:8.1f} calls/s  p50 {line['p50_ms']:8.2f} ms  "
                          f"p99 {line['p99_ms']:8.2f} ms  {line['cpu_ms_call']:8.2f} ms CPU a call", flush=True)
            if args.json:
                args.json.write_text(json.dumps(found))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


if __name__ == "__main__":
    main()
