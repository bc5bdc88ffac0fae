"""What a journey is made of: a server, its command line, people who are logged in, and a connection to the live feed."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from server import STOP_WITHIN, Muster, binary
from websockets.sync.client import connect

ADMIN = "admin@muster.local"
PASSWORD = "a long sentence is best"
ANY_VERSION = {"If-Match": "*"}
# How long an event may take to come. It comes within milliseconds; a busy machine may take longer.
WITHIN_S = 60
# Hashing of passwords as cheap as it is permitted, and no embedded model: neither is part of a journey.
QUICK = "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n"


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.headers, self.text = status, headers, text

    @property
    def body(self):
        return json.loads(self.text)

    @property
    def data(self):
        return self.body["data"]

    def must(self, *statuses):
        assert self.status in statuses, f"{self.status}, not one of {statuses}: {self.text}"
        return self


class Caller:
    """Whoever calls with a key or token."""

    def __init__(self, origin, credential=None):
        self.origin, self.credential = origin, credential
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, method, path, body=None, headers=(), raw=None, kind="application/json"):
        sent = {"content-type": kind, **dict(headers)}
        if self.credential:
            sent["authorization"] = f"Bearer {self.credential}"
        data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        request = urllib.request.Request(self.origin + path, data=data, headers=sent, method=method)
        try:
            with self.opener.open(request, timeout=WITHIN_S) as answer:
                return Answer(answer.status, answer.headers, answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read().decode(errors="replace"))

    def get(self, path, **more):
        return self.call("GET", path, **more).must(200)

    def post(self, path, body=None, headers=()):
        return self.call("POST", path, {} if body is None else body, headers).must(200, 201, 202)


class Installation(Muster):
    """A server in its own folder, its settings file and the command line beside it."""

    def __init__(self, folder, settings, **more):
        folder.mkdir(parents=True, exist_ok=True)
        self.home = folder / "home"
        self.home.mkdir()
        super().__init__(folder, QUICK + settings, **more)

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        return kept | {"HOME": str(self.home), "NO_PROXY": "127.0.0.1,localhost"} | more

    def muster(self, *arguments, check=True, **more):
        """Runs the command line in the folder; returns what it printed."""
        stdin, variables = more.pop("stdin", ""), self.environment(**more)
        command = [str(binary()), *map(str, arguments)]
        done = subprocess.run(
            command,
            env=variables,
            cwd=self.folder,
            input=stdin,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"muster {' '.join(command[1:])}: {done.stdout}{done.stderr}"
        return done

    def start_muster(self, *arguments, **more):
        """Starts the command line in the folder, to go on beside the journey."""
        command = [str(binary()), *map(str, arguments)]
        return subprocess.Popen(
            command,
            env=self.environment(**more),
            cwd=self.folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def settings(self, text):
        (self.folder / "config.toml").write_text(QUICK + text)

    def anybody(self):
        return Caller(self.origin)

    def with_key(self, key=None):
        return Caller(self.origin, key or self.key)

    def login(self, email=ADMIN, password=None):
        body = {"email": email, "password": password or (self.password if email == ADMIN else PASSWORD)}
        answer = self.anybody().post("/api/v1/auth/login", body)
        return Caller(self.origin, answer.data["token"])

    def feed(self, caller, *channels, path="/api/v1/realtime"):
        return Feed(self.origin, caller.credential, channels, path)

    def stop(self):
        if self.process.poll() is None:
            super().stop()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=STOP_WITHIN)


class Feed:
    """A dashboard: one WebSocket, subscribed to some channels."""

    def __init__(self, origin, credential, channels, path):
        url = origin.replace("http://", "ws://") + path
        headers = {"authorization": f"Bearer {credential}"}
        self.socket = connect(
            url,
            additional_headers=headers,
            subprotocols=["muster.v1.json"],
            proxy=None,
            open_timeout=WITHIN_S,
            legacy=True,
        )
        self.seen, self.sent = [], 0
        for channel in channels:
            self.request({"subscribe": {"ch": channel}})

    def request(self, frame):
        """Sends a request; returns its reply."""
        self.sent += 1
        number = self.sent
        self.socket.send(json.dumps({"id": number, **frame}))
        reply = self.next(lambda frame: frame.get("id") == number)
        assert "ok" in reply, reply
        return reply["ok"]

    def command(self, name, target, **args):
        return self.request({"command": {"name": name, "target": target, "args": args}})

    def next(self, wanted):
        """The next frame that is wanted, also of those that came before a reply."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            text = self.socket.recv(timeout=max(0.01, deadline - time.monotonic()))
            if text == "{}":
                self.socket.send("{}")
                continue
            frame = json.loads(text)
            if "ev" in frame:
                self.seen.append(frame)
            if wanted(frame):
                return frame

    def event(self, name, **fields):
        """Waits for an event with these members of its data, unless it has come."""

        def is_it(frame):
            data = frame.get("data") or {}
            return frame.get("ev") == name and all(data.get(key) == value for key, value in fields.items())

        return next((frame for frame in self.seen if is_it(frame)), None) or self.next(is_it)

    def close(self):
        self.socket.close()


def one_line(text, start):
    """The line of a text that starts so."""
    return next(line for line in text.splitlines() if line.startswith(start))


def folder_of(name):
    return Path(__file__).resolve().parent / name
