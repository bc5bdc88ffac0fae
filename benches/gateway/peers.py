#!/usr/bin/env python3
"""Muster beside the gateways that install from a registry, before the same upstream, in interleaved rounds.

They are installed into the target folder at the versions pinned here, and run with their cheapest fair settings: no key
check, no logging of requests, no database, one process. What cannot be installed or started is reported and skipped.

  benches/gateway/peers.py --target target [--secs 2] [--rounds 2] [--json FILE]
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

import bench
import run
import table

CONNECTIONS = {"whole": (1, 16), "stream": (1, 16), "paced": (1,)}
INSTALL_WITHIN, START_WITHIN = 900, 90
# Nothing is fetched or reported while it is measured.
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "LITELLM_LOG": "ERROR",
         "DO_NOT_TRACK": "1", "NO_PROXY": "*", "no_proxy": "*", "NODE_ENV": "production"}


@dataclasses.dataclass(frozen=True)
class Peer:
    """`install(folder)` returns the commands; `start(launcher, folder, name, upstream, model)` an endpoint with its
    port."""

    name: str
    version: str
    install: typing.Callable
    start: typing.Callable


@dataclasses.dataclass
class PeerLauncher:
    processes: bench.Processes
    folder: pathlib.Path

    def launch(self, name, command, port):
        return self.processes.start(name, command, port, START_WITHIN, env={**os.environ, **QUIET}, cwd=self.folder).pid


def from_pypi(requirement):
    def commands(folder):
        python = folder / "bin" / "python"
        return [[sys.executable, "-m", "venv", folder],
                [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]]

    return commands


def from_npm(requirement):
    # Nothing is compiled or downloaded besides: the package brings what it runs.
    def commands(folder):
        quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        return [["npm", "install", "--prefix", folder, *quiet, requirement]]

    return commands


def litellm(launcher, folder, name, upstream, model):
    port, settings = bench.free_port(), launcher.folder / f"{name}.yaml"
    # JSON is YAML.
    settings.write_text(json.dumps({
        "model_list": [{"model_name": model, "litellm_params": {
            "model": f"openai/{model}", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "sk-none"}}],
        "litellm_settings": {"num_retries": 0, "turn_off_message_logging": True},
    }))
    command = [folder / "bin" / "litellm", "--config", settings, "--host", "127.0.0.1", "--port", port]
    return bench.Endpoint(port, launcher.launch(name, [*command, "--num_workers", 1], port), model)


def portkey(launcher, folder, name, upstream, model):
    port = bench.free_port()
    command = ["node", folder / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js",
               f"--port={port}", "--headless"]
    headers = ("Authorization: Bearer sk-none", "x-portkey-provider: openai",
               f"x-portkey-custom-host: http://127.0.0.1:{upstream}/v1")
    return bench.Endpoint(port, launcher.launch(name, command, port), model, headers)


def vllm_router(launcher, folder, name, upstream, model):
    port = bench.free_port()
    command = [folder / "bin" / "vllm-router", "--host", "127.0.0.1", "--port", port, "--policy", "round_robin",
               "--worker-urls", f"http://127.0.0.1:{upstream}", "--log-level", "error",
               "--prometheus-port", bench.free_port()]
    return bench.Endpoint(port, launcher.launch(name, command, port), model)


PEERS = (
    Peer("LiteLLM", "1.102.4", from_pypi("litellm[proxy]==1.102.4"), litellm),
    Peer("Portkey", "1.15.2", from_npm("@portkey-ai/gateway@1.15.2"), portkey),
    Peer("vLLM router", "0.1.17", from_pypi("vllm-router==0.1.17"), vllm_router),
)


def install(peer, target):
    """Once: a folder with a stamp is finished."""
    folder = target / "bench-peers" / f"{peer.name.lower().replace(' ', '-')}-{peer.version}"
    stamp = folder / "installed"
    if not stamp.exists():
        print(f"installing {peer.name} {peer.version}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        for command in peer.install(folder):
            command = [str(part) for part in command]
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_WITHIN)
            if done.returncode:
                last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
                raise bench.Failed(f"cannot be installed: {' '.join(last)[:300]}")
        stamp.touch()
    return folder


def try_side(peer, target, launcher, upstreams):
    """The peer, started and answering; `None` where it is not available, which is reported."""
    try:
        folder = install(peer, target)
        short = peer.name.lower().replace(" ", "-")
        side = bench.Side(peer.name, peer.start(launcher, folder, short, upstreams.fast, bench.MODEL),
                          peer.start(launcher, folder, f"{short}-paced", upstreams.paced, bench.MODEL))
        bench.until_answered(side.fast, "whole")
    except (bench.Failed, OSError, subprocess.TimeoutExpired) as why:
        print(f"NOT MEASURED: {peer.name} {peer.version}: {why}", flush=True)
        return None
    for load, endpoint in (("stream", side.fast), ("paced", side.paced)):
        try:
            bench.until_answered(endpoint, load, patience=15)
        except bench.Failed as why:
            print(f"NOT MEASURED: {peer.name} {peer.version}, {load}: {why}", flush=True)
            side.loads -= {load}
    return side


def main():
    args = run.arguments(__doc__, rounds=2, secs=2)
    tools, muster, relay = run.prepare(args.target)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        processes = bench.Processes(folder)
        try:
            upstreams = bench.Upstreams(tools, processes)
            sides = [upstreams.side(), bench.relay_side(relay, upstreams, processes),
                     bench.muster_side(muster, upstreams, processes, folder)]
            launcher = PeerLauncher(processes, folder)
            peers = [try_side(peer, args.target.resolve(), launcher, upstreams) for peer in PEERS]
            sides += [side for side in peers if side]
            results = run.measure_all(args, tools, sides, CONNECTIONS)
        finally:
            processes.end()
    print("\nversions: " + ", ".join(f"{peer.name} {peer.version}" for peer in PEERS))
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    # A peer's errors are printed with its figures; only errors of Muster are a failure.
    table.errors(results)
    return 1 if any(result["errors"] for result in results if result["side"] == "muster") else 0


if __name__ == "__main__":
    sys.exit(main())
