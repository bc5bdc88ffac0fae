"""A release build of the server, started for a measurement."""

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

KEY = "mst_benchbenchaa_" + "b" * 43
# No request is limited: the benchmark measures the server, not its limits.
SETTINGS = """[store]
path = "data"
[llm]
model = "none"
[agents]
files = ["{agents}"]
slots = {slots}
per_key = {slots}
queue_per_key = 1000000
[feed]
max_per_person = 10000
[limits]
person = "unlimited"
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


@contextlib.contextmanager
def killed_on_failure(server):
    try:
        yield
    except BaseException:
        server.kill()
        raise
