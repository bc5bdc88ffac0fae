"""A running Muster: started on a free port with its own folder, stopped as an operator would stop it."""

import base64
import json
import os
import secrets
import signal
import subprocess
import threading
import urllib.request
from pathlib import Path

import openai

ROOT = Path(__file__).resolve().parents[2]
# A start takes under a second; a busy machine may take longer.
START_WITHIN = 60
STOP_WITHIN = 60


def binary():
    default = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "muster"
    path = Path(os.environ.get("MUSTER_BIN", default)).resolve()
    assert path.exists(), f"no server at {path}: build it (make test-rust), or name it in MUSTER_BIN"
    return path


def new_key():
    """A whole key, in the form of contract 0: 12 characters of identifier, 43 of base64url secret."""
    identifier = secrets.token_hex(6)
    secret = base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
    return f"mst_{identifier}_{secret}"


def settings(providers=(), llm=None, more=""):
    """config.toml: `providers` are (id, base URL, names of models), called in that order and no others; `more` is TOML."""
    lines = []
    for name, base_url, models in providers:
        lines += ["[[provider]]", f'id = "{name}"', 'kind = "openai"']
        lines += [f'base_url = "{base_url}"', f"models = {json.dumps(list(models))}", ""]
    if providers:
        lines += ["[chain]", f"order = {json.dumps([name for name, *_ in providers])}", ""]
    lines += ["[llm]", *(f"{key} = {json.dumps(value)}" for key, value in (llm or {}).items()), "", more, ""]
    return "\n".join(lines)


class Muster:
    def __init__(self, folder, config, password=None, first_key="ours"):
        """`first_key`: "ours", or "random" to let the server make the first key and password, and print them."""
        self.folder = Path(folder)
        self.key, self.password = new_key(), password or secrets.token_urlsafe(24)
        (self.folder / "config.toml").write_text(config)
        self.log = open(self.folder / "stderr.log", "wb")
        # Nothing of the caller's own settings, keys or proxies gets in.
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        if first_key == "ours":
            environment |= {"MUSTER_BOOTSTRAP_KEY": self.key, "MUSTER_ADMIN_PASSWORD": self.password}
        command = [str(binary()), "serve", "--listen", "127.0.0.1:0"]
        command += ["--data", str(self.folder / "data"), "--config", str(self.folder / "config.toml")]
        self.process = subprocess.Popen(
            command, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log
        )
        try:
            self.origin = self.wait_for_address()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        # Or a talkative server blocks on a full pipe.
        self.printed, self.more = [f"listening on {self.origin}\n"], threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.more:
                self.printed.append(line.decode(errors="replace"))
                self.more.notify_all()

    def printed_until(self, text):
        """What was printed, once a line with this text was."""
        with self.more:
            came = self.more.wait_for(lambda: any(text in line for line in self.printed), timeout=START_WITHIN)
            assert came, f"not printed: {text}\nprinted: {self.printed}"
            return "".join(self.printed)

    def wait_for_address(self):
        # A server that hangs is ended, and with it the output that we read.
        watchdog = threading.Timer(START_WITHIN, self.process.kill)
        watchdog.start()
        printed = []
        try:
            for line in self.process.stdout:
                printed.append(line.decode(errors="replace").strip())
                if printed[-1].startswith("listening on http://"):
                    return printed[-1].removeprefix("listening on ")
        finally:
            watchdog.cancel()
        raise AssertionError(f"the server did not start\nprinted: {printed}\nlogged: {self.logged()}")

    def logged(self):
        return (self.folder / "stderr.log").read_text(errors="replace")[-4000:]

    def client(self, key=None, kind=openai.OpenAI, max_retries=0):
        return kind(api_key=key or self.key, base_url=f"{self.origin}/v1", max_retries=max_retries, timeout=60)

    def make_key(self, **wanted):
        """Creates a key over the API and returns its text."""
        request = urllib.request.Request(
            f"{self.origin}/api/v1/keys",
            data=json.dumps({"name": "test", **wanted}).encode(),
            headers={"authorization": f"Bearer {self.key}", "content-type": "application/json"},
        )
        # Directly to the loopback, whatever proxy the environment names.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            assert answer.status == 201
            return json.load(answer)["key"]

    def stop(self):
        """SIGTERM drains, flushes and ends with 0."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"not down {STOP_WITHIN} s after SIGTERM\nlogged: {self.logged()}") from None
        finally:
            self.log.close()
        assert code == 0, f"exit code {code} after SIGTERM\nlogged: {self.logged()}"
