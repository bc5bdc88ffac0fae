"""As much of a client as the feed's benchmarks need: HTTP, a WebSocket, and the server's control port."""

import base64
import http.client
import json
import os
import socket
import ssl
import struct

EMAIL, PASSWORD = "admin@muster.local", "feed-bench-first-administrator"


class Control:
    """Publishes events and queries the server's counters."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile()

    def publish(self, count, size):
        self.socket.sendall(f"{count} {size}\n".encode())

    def query(self, what):
        self.socket.sendall(f"{what}\n".encode())
        return json.loads(self.answers.readline())


def request(connection, method, path, body=None, token=None):
    """The answer's JSON; raises `RuntimeError` for a refusal."""
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {body[:300]!r}")
    return json.loads(body)


def tls(side):
    """A context that trusts the side's certificate."""
    return ssl.create_default_context(cafile=side.cert)


def connect(side):
    if side.cert:
        return http.client.HTTPSConnection("127.0.0.1", side.port, timeout=60, context=tls(side))
    return http.client.HTTPConnection("127.0.0.1", side.port, timeout=60)


def login(connection):
    body = {"email": EMAIL, "password": PASSWORD}
    return request(connection, "POST", "/api/v1/auth/login", body)["data"]["token"]


def session_of(token):
    claims = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sid"]


def masked(text, opcode=1):
    data = text.encode()
    if len(data) < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | len(data))
    else:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, len(data))
    return head + bytes(4) + data


class Socket:
    """A live socket with a token. Frames are read whole."""

    def __init__(self, side, token):
        self.socket = socket.create_connection(("127.0.0.1", side.port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if side.cert:
            self.socket = tls(side).wrap_socket(self.socket, server_hostname="127.0.0.1")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /api/v1/realtime HTTP/1.1\r\nHost: 127.0.0.1:{side.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: muster.v1.json\r\n"
            f"Authorization: Bearer {token}\r\n\r\n".encode())
        self.left = b""
        while b"\r\n\r\n" not in self.left:
            self._more()
        head, self.left = self.left.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.splitlines()[0]:
            raise RuntimeError(head.decode(errors="replace"))

    def _more(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise EOFError
        self.left += got

    def send(self, value):
        self.socket.sendall(masked(json.dumps(value)))

    def frame(self):
        """The next frame's opcode and payload; raises `EOFError` at the end."""
        while True:
            if len(self.left) >= 2:
                length, head = self.left[1] & 127, 2
                if length == 126 and len(self.left) >= 4:
                    length, head = struct.unpack("!H", self.left[2:4])[0], 4
                elif length == 127 and len(self.left) >= 10:
                    length, head = struct.unpack("!Q", self.left[2:10])[0], 10
                if length not in (126, 127) or head > 2:
                    if len(self.left) >= head + length:
                        opcode, payload = self.left[0] & 15, self.left[head:head + length]
                        self.left = self.left[head + length:]
                        return opcode, payload
            self._more()

    def answer(self, number):
        """The reply to the command of that number."""
        while True:
            opcode, payload = self.frame()
            if opcode == 1 and payload.startswith(b'{"id":'):
                body = json.loads(payload)
                if body.get("id") == number:
                    return body

    def closed(self):
        """Reads to the end; returns the close frame's code, or 1006 where there was none."""
        try:
            while True:
                opcode, payload = self.frame()
                if opcode == 8:
                    return struct.unpack("!H", payload[:2])[0]
        except (EOFError, OSError):
            return 1006

    def end(self):
        self.socket.close()
