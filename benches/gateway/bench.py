"""What the gateway's benchmarks share: processes, the load tools, rounds that are interleaved, medians."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import time
import urllib.error
import urllib.request

KEY = "mst_benchbenchaa_" + "b" * 43
MODEL = "gpt-4o-mini"
# Muster knows the prices of these by their providers, and so has a budget to keep.
PRICED, PACED_PRICED = "gpt-5.6-luna", "mistral-small"
WARM_UP_SECS = 0.3


@dataclasses.dataclass
class Endpoint:
    """The address of a side, and the process whose CPU is counted, with its children."""

    port: int
    pid: int
    model: str = MODEL
    headers: tuple[str, ...] = ("Authorization: Bearer sk-none",)


@dataclasses.dataclass
class Side:
    """One of those compared: before the upstream that answers at once, and before the paced one."""

    name: str
    fast: Endpoint
    paced: Endpoint
    loads: frozenset[str] = frozenset(("whole", "stream", "paced"))


@dataclasses.dataclass(frozen=True)
class Load:
    """The requests of a load: `kind` is whole, stream or paced."""

    label: str
    kind: str


LOADS = (
    Load("whole answers", "whole"),
    Load("streams of 64 tokens", "stream"),
    Load("paced streams of 32 tokens (the first after 20 ms, then one each 5 ms)", "paced"),
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Failed(Exception):
    """A process did not start."""


class Processes:
    """Started one after the other, ended together. Each one's output is in `folder`."""

    def __init__(self, folder):
        self.folder, self.all = folder, []

    def start(self, name, command, port, patience=30, **more):
        path = self.folder / f"{name}.log"
        with open(path, "wb") as log:
            process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, **more)
        self.all.append(process)
        until = time.monotonic() + patience
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
                return process
            time.sleep(0.05)
        output = path.read_text(errors="replace").strip().splitlines()[-3:]
        raise Failed(f"{name} does not answer on port {port} (exit code {process.poll()}): {' | '.join(output)}")

    def end(self):
        for process in reversed(self.all):
            process.terminate()
        for process in self.all:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def build_tools(target):
    """Builds the load tools into the target folder; returns the folder with the binaries."""
    folder = target / "bench-tools"
    manifest = pathlib.Path(__file__).parent.parent / "tools" / "Cargo.toml"
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "--manifest-path", str(manifest)], check=True,
                   env={**os.environ, "CARGO_TARGET_DIR": str(folder)})
    return folder / "release"


def post(port, path, body, key):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"content-type": "application/json", "authorization": f"Bearer {key}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)


def until_answered(endpoint, load, patience=60):
    """Repeats a request until it gets the answer of this load; raises `Failed` with the last response otherwise."""
    until, why = time.monotonic() + patience, ""
    headers = dict(header.split(": ", 1) for header in endpoint.headers) | {"content-type": "application/json"}
    body = {"model": endpoint.model, "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.7,
            "max_tokens": 256, "stream": load != "whole"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until:
        request = urllib.request.Request(
            f"http://127.0.0.1:{endpoint.port}/v1/chat/completions", json.dumps(body).encode(), headers)
        try:
            with opener.open(request, timeout=30) as answer:
                output = answer.read()
            if load == "whole" and json.loads(output)["choices"][0]["message"]["content"]:
                return
            if load != "whole" and b"data: [DONE]" in output:
                return
            why = output[:300].decode(errors="replace")
        except urllib.error.HTTPError as error:
            why = f"{error.code}: {error.read()[:300].decode(errors='replace')}"
        except (OSError, ValueError, LookupError) as error:
            why = repr(error)
        time.sleep(0.5)
    raise Failed(f"gives no answer: {why}")


def resident_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


class Upstreams:
    """The two mock providers: one that answers at once, one that paces its answers."""

    def __init__(self, tools, processes):
        self.fast, self.paced = free_port(), free_port()
        mock = tools / "mock-upstream"
        self.fast_pid = processes.start("upstream", [mock, "--port", self.fast], self.fast).pid
        paced = [mock, "--port", self.paced, "--ttft-us", 20_000, "--itl-us", 5_000, "--tokens", 32]
        self.paced_pid = processes.start("upstream-paced", paced, self.paced).pid

    def side(self):
        return Side("direct", Endpoint(self.fast, self.fast_pid), Endpoint(self.paced, self.paced_pid))


def relay_side(binary, upstreams, processes):
    """The bare relay: the floor of any gateway built on the same HTTP server and client."""

    def start(name, upstream):
        port = free_port()
        command = [binary, f"127.0.0.1:{port}", f"http://127.0.0.1:{upstream}"]
        return Endpoint(port, processes.start(name, command, port).pid)

    return Side("bare relay", start("relay", upstreams.fast), start("relay-paced", upstreams.paced))


def muster_side(binary, upstreams, processes, folder, name="muster", limited=True):
    """Muster with every part on: an open store, ledger, breaker, and a key that has limits and a budget if `limited`. No
    embedded model."""
    folder = folder / name.replace(" ", "-")
    folder.mkdir()
    port = free_port()
    providers = "".join(
        f'[[provider]]\nid = "{name}"\nkind = "openai"\nbase_url = "http://127.0.0.1:{upstream}/v1"\n'
        f'api_key_env = ""\nmodels = ["{model}"]\n'
        for name, upstream, model in (("openai", upstreams.fast, PRICED), ("mistral", upstreams.paced, PACED_PRICED)))
    path = folder / "config.toml"
    path.write_text(f'[store]\npath = "{folder}/data"\n[llm]\nmodel = "none"\ncache = "{folder}/none"\n'
                    f"{providers}")
    command = [binary, "serve", "--config", path, "--listen", f"127.0.0.1:{port}"]
    process = processes.start(folder.name, command, port, env={**os.environ, "MUSTER_BOOTSTRAP_KEY": KEY})
    wanted = {"name": "bench", "scopes": ["chat"], "plan_b": "enterprise"}
    if limited:
        # Wide enough never to refuse.
        limits = {name: 10**12 for name in ("requests_per_minute", "requests_per_hour", "tokens_per_minute")}
        wanted |= {"limits": limits, "budget_usd": 1e6}
    header = f"Authorization: Bearer {post(port, '/api/v1/keys', wanted, KEY)['key']}"
    return Side(name, Endpoint(port, process.pid, PRICED, (header,)),
                Endpoint(port, process.pid, PACED_PRICED, (header,)))


def load_once(tools, side, load, connections, secs):
    endpoint = side.paced if load.kind == "paced" else side.fast
    command = [tools / "gateway-load", "--url", f"http://127.0.0.1:{endpoint.port}/v1/chat/completions", "--connections", connections,
               "--secs", secs, "--warm", WARM_UP_SECS, "--pids", endpoint.pid, "--model", endpoint.model]
    for header in endpoint.headers:
        command += ["--header", header]
    if load.kind != "whole":
        command.append("--stream")
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    got = json.loads(done.stdout.strip().splitlines()[-1])
    return got


def median(rounds):
    """Of each figure by itself; errors are summed."""
    errors = {}
    for got in rounds:
        for what, count in got["errors"].items():
            errors[what] = errors.get(what, 0) + count
    figures = {name: value for name, value in rounds[0].items() if type(value) in (int, float)}
    return {**{name: statistics.median(got[name] for got in rounds) for name in figures}, "errors": errors}


def measure(tools, sides, load, connections, secs, rounds):
    """{side: figures}. In each round every side is measured in turn, so that other load on the machine affects all
    equally."""
    got = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            got[side.name].append(load_once(tools, side, load, connections, secs))
    return {name: median(all_rounds) for name, all_rounds in got.items()}
