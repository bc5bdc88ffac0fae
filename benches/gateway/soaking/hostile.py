"""Traffic of clients that mean harm, beside the good: what it sends, and how each of its requests ended.

It comes from addresses of its own (127.0.0.2 and up) and holds keys of its own (the smallest plan). It is a process of its
own, so that its work does not delay the clock of the good clients: it reads its settings as one line of JSON, runs until
its standard input ends, and writes its attempts as JSON.
"""

import asyncio
import base64
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import time

from . import fixture as fixtures
from . import wire

# Longer than the server's bounds of a head (30 s) and of a slow body (20 s by its window): past this a request has no end.
PATIENCE_SECS = 75
RECOVERED_WITHIN = 180
NESTED_BYTES = 20 << 20
CHAT, LOGIN, MONITOR = "/v1/chat/completions", "/api/v1/auth/login", "/api/q62/dashboard/agents"
BODIES = (CHAT, "/v1/responses", "/v1/messages", "/v1/embeddings", "/api/chat", "/api/v1/incidents")


@dataclasses.dataclass
class Attempt:
    """One hostile request. `end`: the status, `closed` by the server, `left` at the end of the soak, or `no end`."""

    kind: str
    sent: float
    end: str = ""
    ended: float | None = None


class Hostility:
    """All hostile clients. `keys`: `body` for requests with bodies, `socket` for commands."""

    def __init__(self, port, keys, seed):
        self.port, self.keys, self.random = port, keys, random.Random(seed)
        self.attempts, self.stop, self.addresses = [], asyncio.Event(), itertools.cycle(range(2, 10))

    async def run(self):
        """Until `stop` is set; then every open attempt is left."""
        loops = [
            *(self.repeat("a slow body", self.slow_body, 0.5) for _ in range(30)),
            *(self.repeat("an unfinished body", self.unfinished_body, 0.5) for _ in range(60)),
            *(self.repeat("an unfinished head", self.unfinished_head, 0.5) for _ in range(30)),
            *(self.repeat("a connection that is only held", self.held, 0.5) for _ in range(100)),
            *(self.repeat("a large nested body", self.nested_body, 0.2) for _ in range(2)),
            *(self.repeat("a login with a made-up name", self.login, 0.1) for _ in range(3)),
            *(self.repeat("a socket with commands", self.socket, 0.2) for _ in range(2)),
            self.repeat("a chat with an unknown model", self.unknown_model, 0.05),
        ]
        tasks = [asyncio.ensure_future(loop) for loop in loops]
        await self.stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def repeat(self, kind, send, pause):
        # Not all at once.
        await asyncio.sleep(self.random.random() * 3)
        # `wait_for` can lose a cancellation that comes together with its result.
        while not self.stop.is_set():
            attempt = Attempt(kind, time.monotonic())
            self.attempts.append(attempt)
            try:
                attempt.end = str(await asyncio.wait_for(send(), PATIENCE_SECS))
            except (TimeoutError, asyncio.TimeoutError):
                attempt.end = "no end"
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                attempt.end = "closed"
            except asyncio.CancelledError:
                attempt.end = "left"
                raise
            finally:
                attempt.ended = time.monotonic()
            await asyncio.sleep(pause)

    @contextlib.asynccontextmanager
    async def connection(self):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=wire.MAX_LINE, local_addr=(f"127.0.0.{next(self.addresses)}", 0)
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    def head(self, path, length, key=None):
        key = f"authorization: Bearer {key}\r\n" if key else ""
        return (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n{key}content-type: application/json\r\n"
            f"content-length: {length}\r\n\r\n"
        ).encode()

    async def status(self, reader):
        """The status of an answer; `closed` where there is none."""
        head = await reader.readuntil(b"\r\n\r\n")
        return head.split(b" ")[1].decode()

    def answer(self, reader):
        """The status as a task, which may be left alone."""
        task = asyncio.ensure_future(self.status(reader))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return task

    async def send(self, path, body, key=None):
        async with self.connection() as (reader, writer):
            answer = self.answer(reader)
            try:
                writer.write(self.head(path, len(body), key))
                for at in range(0, len(body), 1 << 16):
                    # A server that has answered need not read the rest.
                    if answer.done():
                        break
                    writer.write(body[at : at + (1 << 16)])
                    await writer.drain()
            except OSError:
                # The answer may have arrived before the connection ended.
                pass
            return await answer

    # What is sent

    async def slow_body(self):
        async with self.connection() as (reader, writer):
            writer.write(self.head(CHAT, 1 << 20, self.keys["body"]))
            answer = self.answer(reader)
            while not answer.done():
                writer.write(b'{"model"  ')
                await asyncio.wait([answer], timeout=1)
            return await answer

    async def unfinished_body(self):
        async with self.connection() as (reader, writer):
            writer.write(self.head(self.random.choice(BODIES), 1 << 20, self.keys["body"]) + b" " * (1 << 19))
            return await self.status(reader)

    async def unfinished_head(self):
        async with self.connection() as (reader, writer):
            writer.write(self.head(CHAT, 10)[:-4])
            return await self.status(reader)

    async def held(self):
        async with self.connection() as (reader, _):
            return await self.status(reader)

    async def nested_body(self):
        return await self.send(self.random.choice(BODIES), self.random.choice(NESTED), self.keys["body"])

    async def login(self):
        name = "".join(self.random.choices("abcdefghijklmnop", k=(1 << 20) if self.random.random() < 0.1 else 12))
        body = json.dumps({"email": f"{name}@example.org", "password": "not-the-password-of-anybody"})
        return await self.send(LOGIN, body.encode())

    async def unknown_model(self):
        body = {"model": f"made-up-{self.random.randrange(10**9)}", "messages": [{"role": "user", "content": "x"}]}
        return await self.send(CHAT, json.dumps(body).encode(), self.keys["body"])

    async def socket(self):
        """A socket that sends commands with `idem`, each under another name, until it is closed."""
        async with self.connection() as (reader, writer):
            await open_socket(reader, writer, self.port, self.keys["socket"])
            reading = asyncio.ensure_future(until_closed(reader))
            reading.add_done_callback(lambda task: task.cancelled() or task.exception())
            for number in itertools.count(1):
                if reading.done():
                    return await reading
                command = {
                    "name": f"made.up.{self.random.randrange(10**6)}",
                    "idem": f"i{self.random.randrange(10**12)}",
                }
                writer.write(text_frame({"id": number, "command": command}))
                await writer.drain()
                # Faster than permitted: the close is a proper end.
                await asyncio.wait([reading], timeout=0.02)


def tree():
    """Many small objects: each byte of the body becomes dozens in memory."""
    item = b'{"a":{"a":1}},'
    return b'{"model":"m","messages":[' + item * (NESTED_BYTES // len(item)) + b"1]}"


def deep():
    """One object in another, without an end."""
    return b'{"model":' + b'{"a":' * (NESTED_BYTES // 5)


NESTED = (tree(), deep())


# Sockets, as far as they are needed here


async def open_socket(reader, writer, port, key):
    nonce = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        (
            f"GET {MONITOR} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\n"
            f"upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: {nonce}\r\n"
            "sec-websocket-version: 13\r\n\r\n"
        ).encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in head.split(b"\r\n")[0]:
        raise OSError(f"no socket: {head.decode('latin-1')}")


def text_frame(body):
    payload, mask = json.dumps(body).encode(), os.urandom(4)
    length = (
        bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0x80 | 126]) + len(payload).to_bytes(2, "big")
    )
    return b"\x81" + length + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


async def frame(reader):
    first, length = await reader.readexactly(2)
    if length in (126, 127):
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    return first & 15, await reader.readexactly(length)


async def until_closed(reader):
    while (await frame(reader))[0] != 8:
        pass
    return "closed"


async def command_of_another_key(port, key):
    """Sends a known command with `idem`; returns the reply, which should be that the task does not exist."""
    try:
        return await asyncio.wait_for(command_reply(port, key), PATIENCE_SECS)
    except (OSError, EOFError, TimeoutError, asyncio.TimeoutError) as why:
        return f"no reply: {why!r}"


async def command_reply(port, key):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=wire.MAX_LINE)
    try:
        await open_socket(reader, writer, port, key)
        command = {
            "name": "agent.kill",
            "target": "tsk_00000000000000000000000000",
            "args": {},
            "idem": "of-another-key",
        }
        writer.write(text_frame({"id": 7, "command": command}))
        while True:
            kind, payload = await frame(reader)
            if kind == 8:
                return f"closed {int.from_bytes(payload[:2], 'big')}"
            body = json.loads(payload) if kind == 1 else {}
            if body.get("id") == 7 or body.get("reply") == 7:
                return json.dumps(body)
    finally:
        writer.close()


async def keys(port):
    wanted = {
        "body": {"scopes": ["chat"], "plan_a": "free", "plan_b": "free"},
        "socket": {"scopes": ["agents"]},
        "other socket": {"scopes": ["agents"]},
    }
    return {name: await fixtures.make_key(port, f"hostile {name}", more) for name, more in wanted.items()}


async def watch_health(port, samples, every=0.2):
    """Calls the health route on a new connection each time, until it is cancelled: when, and how long it took."""
    while True:
        sent = time.monotonic()
        try:
            status, _ = await asyncio.wait_for(wire.call(port, "GET", "/api/health/live", ""), PATIENCE_SECS)
        except (OSError, wire.Broken, TimeoutError, asyncio.TimeoutError):
            status = None
        samples.append((sent, time.monotonic() - sent, status))
        await asyncio.sleep(every)


async def recovered(port):
    """Seconds until the health route answers at once; `None` if that takes longer than `RECOVERED_WITHIN`."""
    began = time.monotonic()
    while time.monotonic() - began < RECOVERED_WITHIN:
        with contextlib.suppress(OSError, wire.Broken, TimeoutError, asyncio.TimeoutError):
            status, _ = await asyncio.wait_for(wire.call(port, "GET", "/api/health/live", ""), 1)
            if status == 200:
                return time.monotonic() - began
        await asyncio.sleep(0.2)
    return None


async def metrics_bytes(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=wire.MAX_LINE)
    try:
        writer.write(
            f"GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {fixtures.BOOTSTRAP}\r\n"
            "connection: close\r\n\r\n".encode()
        )
        return len(await reader.read(-1))
    finally:
        writer.close()


class Process:
    """The hostile clients, from the side of the soak."""

    async def start(self, port, keys, seed):
        home = str(pathlib.Path(__file__).resolve().parents[1])
        self.process = await asyncio.create_subprocess_exec(
            "nice",
            "-n",
            "5",
            sys.executable,
            "-m",
            "soaking.hostile",
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.process.stdin.write(json.dumps({"port": port, "keys": keys, "seed": seed}).encode() + b"\n")
        await self.process.stdin.drain()

    async def stop(self):
        """Ends it; returns its attempts."""
        # It runs until its input ends; before Python 3.12 `communicate` leaves the input open.
        self.process.stdin.close()
        out, _ = await self.process.communicate()
        return [Attempt(**attempt) for attempt in json.loads(out)]


async def main():
    settings = json.loads(sys.stdin.readline())
    hostility = Hostility(settings["port"], settings["keys"], settings["seed"])
    running = asyncio.ensure_future(hostility.run())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    hostility.stop.set()
    await running
    json.dump([dataclasses.asdict(attempt) for attempt in hostility.attempts], sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
