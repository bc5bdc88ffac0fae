"""HTTP/1.1 as a client speaks it, on asyncio: one connection, kept or dropped at will."""

import asyncio
import json

MAX_LINE = 1 << 20


class Broken(Exception):
    """The server broke HTTP: an answer that ends before its end, or is none."""


class Connection:
    """To a server on the loopback; opened when first used, and again after `close`."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def request(self, method, path, key, body=None):
        """Sends a request; returns the status, the headers (lower case) and an iterator over the body."""
        fresh = self.writer is None
        if fresh:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=MAX_LINE)
        data = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\nauthorization: Bearer {key}\r\n"
                f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n")
        try:
            self.writer.write(head.encode() + data)
            await self.writer.drain()
            status, headers = await self.head()
        except (OSError, asyncio.IncompleteReadError) as why:
            self.close()
            # A server may close an idle connection at any time: that is no broken answer.
            if not fresh:
                return await self.request(method, path, key, body)
            raise Broken(f"no answer on a new connection: {why!r}") from why
        return status, headers, self.pieces(headers)

    async def head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in lines[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        return int(lines[0].split()[1]), headers

    async def pieces(self, headers):
        """Ends where the body does. Raises `Broken` where the connection ends before."""
        try:
            if headers.get("transfer-encoding", "").lower() == "chunked":
                while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                    yield (await self.reader.readexactly(size + 2))[:-2]
                await self.reader.readexactly(2)
            elif length := int(headers["content-length"]):
                yield await self.reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError, ValueError, KeyError) as why:
            self.close()
            raise Broken(f"the body breaks off: {why!r}") from why
        if headers.get("connection", "").lower() == "close":
            self.close()

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def events(pieces):
    """Name and data of each server-sent event; comments are passed over."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n\n")
        for event in whole:
            name, data = None, []
            for line in event.decode().split("\n"):
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    data.append(value)
            if data:
                yield name, "\n".join(data)
    if rest.strip():
        raise Broken(f"the stream ends within an event: {rest[:100]!r}")


async def call(port, method, path, key, body=None):
    """Sends one request on a separate connection; returns status and JSON."""
    connection = Connection(port)
    try:
        status, _, pieces = await connection.request(method, path, key, body)
        data = b"".join([piece async for piece in pieces])
        return status, json.loads(data) if data else None
    finally:
        connection.close()
