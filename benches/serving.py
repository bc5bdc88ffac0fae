"""A release server for a benchmark: started, asked until it answers, watched and stopped."""

import contextlib
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(url, body=None, timeout=5):
    """The JSON that a route answers: to GET, or with a body to POST."""
    headers, data = {"authorization": f"Bearer {KEY}"}, None
    if body is not None:
        headers["content-type"], data = "application/json", json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data=data, headers=headers), timeout=timeout) as answer:
        return json.load(answer)


def resident(pid):
    """Bytes of a process in memory."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def server(binary, settings, first):
    """Runs a server; yields its process, its address, the seconds until `first` answered, and that answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.toml").write_text(settings)
        url = f"http://127.0.0.1:{free_port()}"
        begun = time.monotonic()
        with open(folder / "muster.log", "ab") as log:
            command = [binary, "serve", "--config", "config.toml", "--listen", url.removeprefix("http://")]
            process = subprocess.Popen(command, cwd=folder, env={**os.environ, "MUSTER_BOOTSTRAP_KEY": KEY}, stdout=log, stderr=log)
        try:
            answer = None
            while answer is None and time.monotonic() < begun + 60 and process.poll() is None:
                try:
                    answer = call(url + first)
                except (OSError, urllib.error.URLError):
                    time.sleep(0.01)
            if answer is None:
                raise SystemExit((folder / "muster.log").read_text(errors="replace")[-2000:])
            yield process, url, time.monotonic() - begun, answer
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def load(release, url, bodies, process, secs, *options):
    """Posts the bodies in turn; yields the measurement for each number of clients."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(body) + "\n" for body in bodies)
        file.flush()
        command = [release / "examples/post_load", "--url", url, "--key", KEY, "--bodies", file.name, "--secs", secs, "--pid", process.pid]
        done = subprocess.run([str(part) for part in [*command, *options]], check=True, capture_output=True, text=True)
        yield from map(json.loads, done.stdout.splitlines())
