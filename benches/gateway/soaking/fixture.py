"""The server under test with its providers, and the keys that its clients hold."""

import asyncio
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from . import wire

BOOTSTRAP = "mst_soaksoaksoak_" + "s" * 43
START_WITHIN, STOP_WITHIN, QUIET_WITHIN = 60, 60, 30
# In dollars: a dozen answers.
SMALL_BUDGET = 0.001
TIGHT_LIMIT = 20
# Models of each provider: two providers are in the catalogue, so that their models have prices. `aside` is not in the
# chain: it is called only by name.
FIRST, SECOND, ASIDE = "openai", "mistral", "aside"
PROVIDERS = {
    FIRST: ["gpt-5.6-luna", "slow-50", "fail-500", "hang", "cut-10"],
    SECOND: ["mistral-small"],
    ASIDE: ["fail-429"],
}
# A budget bounds only what has a price, and the catalogue knows none of the models that fail on purpose.
PRICE = "price = { input_per_million = 1.0, output_per_million = 6.0 }"
# Short, so that a hanging provider is left soon; wide enough for a machine that is busy with other things.
CHAIN = f"""[chain]
order = ["{FIRST}", "{SECOND}"]
connect_timeout_ms = 1000
headers_timeout_ms = 1000
first_delta_timeout_ms = 1000
between_deltas_timeout_ms = 2000
deadline_ms = 8000
stream_limit_ms = 20000
breaker_min_calls = 20
breaker_window_ms = 5000
breaker_cooldown_ms = 300
breaker_hard_cooldown_ms = 1000
"""
LIMITS = "[limits.agent]\nhealth = 1000000\nchat = 1000000\n"
KEYS = {
    # Their answers are counted exactly: these clients read to the end and request no model that cuts streams.
    "wide": {},
    "budgeted": {"budget_usd": 1000},
    "front": {},
    "tight": {"limits": {"requests_per_minute": TIGHT_LIMIT}},
    "poor": {"budget_usd": SMALL_BUDGET},
    # Disconnects during answers, and requests streams that are cut.
    "rough": {},
}


@dataclasses.dataclass
class SoakFixture:
    folder: pathlib.Path
    port: int
    server: subprocess.Popen
    upstreams: dict[str, tuple[int, subprocess.Popen]]
    keys: dict[str, str]
    prices: dict[str, dict]
    # When providers went away.
    away: list[float] = dataclasses.field(default_factory=list)

    async def stats(self):
        """What each upstream has open and busy."""
        stats = {}
        for name, (port, _) in self.upstreams.items():
            stats[name] = (await wire.call(port, "GET", "/stats", ""))[1]
        return stats

    async def quiet(self):
        """Waits until no provider is busy; returns whether that was reached in time."""
        until = time.monotonic() + QUIET_WITHIN
        while time.monotonic() < until:
            with contextlib.suppress(OSError, wire.Broken):
                if not any(stats["busy"] for stats in (await self.stats()).values()):
                    return True
            await asyncio.sleep(0.1)
        return False

    def logged(self):
        return (self.folder / "muster.log").read_text(errors="replace")

    def stop(self):
        """SIGTERM; the exit code, `None` where it had to be killed."""
        self.server.send_signal(signal.SIGTERM)
        try:
            return self.server.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        for process in [self.server, *(process for _, process in self.upstreams.values())]:
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def reachable(port, process, what):
    until = time.monotonic() + START_WITHIN
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)
    raise SystemExit(f"{what} does not answer on port {port} (exit code {process.poll()})")


async def build(muster, folder, seed):
    """Starts the providers and the server, and makes the keys."""
    home = str(pathlib.Path(__file__).resolve().parents[1])
    # Nothing of the caller's own settings, keys or proxies gets in.
    env = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    upstreams, started = {}, []

    def start(name, command, **more):
        with open(folder / f"{name}.log", "wb") as log:
            started.append(subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, **more))
        return started[-1]

    try:
        for number, name in enumerate(PROVIDERS):
            port = free_port()
            command = [sys.executable, "-m", "soaking.upstream", "--port", port, "--seed", seed + number]
            upstreams[name] = port, start(name, command, cwd=home, env=env)
        sections = "".join(
            f'[[provider]]\nid = "{name}"\nkind = "openai"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
            f'api_key_env = ""\nmodels = {json.dumps(PROVIDERS[name])}\n{PRICE}\n'
            for name, (port, _) in upstreams.items())
        (folder / "config.toml").write_text(f'[store]\npath = "data"\n[llm]\nmodel = "none"\n{LIMITS}{sections}{CHAIN}')
        port = free_port()
        command = [pathlib.Path(muster).resolve(), "serve", "--config", "config.toml", "--listen", f"127.0.0.1:{port}"]
        server = start("muster", command, cwd=folder, env={**env, "MUSTER_BOOTSTRAP_KEY": BOOTSTRAP})
        for name, (upstream, process) in upstreams.items():
            await reachable(upstream, process, name)
        await reachable(port, server, "the server")
        keys = {name: await make_key(port, name, more) for name, more in KEYS.items()}
        return SoakFixture(folder, port, server, upstreams, keys, await prices(port))
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise


async def make_key(port, name, more):
    wanted = {"name": name, "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise", **more}
    status, body = await wire.call(port, "POST", "/api/v1/keys", BOOTSTRAP, wanted)
    if status != 201:
        raise SystemExit(f"no key {name}: {status} {body}")
    return body["key"]


async def prices(port):
    """Of each model, in dollars for a million tokens; a model whose price is not known is left out."""
    _, body = await wire.call(port, "GET", "/v1/models", BOOTSTRAP)
    return {model["id"]: model["pricing"] for model in body["data"] if model.get("pricing")}
