"""HTTP/2 frames (RFC 9113) and header blocks (RFC 7541) as bytes, right or wrong, and a connection to send them on."""

import dataclasses
import socket
import ssl
import struct
import time

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY_FLAG = 0x1, 0x1, 0x4, 0x8, 0x20
(
    NO_ERROR,
    PROTOCOL_ERROR,
    INTERNAL_ERROR,
    FLOW_CONTROL_ERROR,
    SETTINGS_TIMEOUT,
    STREAM_CLOSED,
    FRAME_SIZE_ERROR,
    REFUSED_STREAM,
    CANCEL,
    COMPRESSION_ERROR,
    CONNECT_ERROR,
    ENHANCE_YOUR_CALM,
) = range(12)
NAMES = {
    DATA: "DATA",
    HEADERS: "HEADERS",
    RST_STREAM: "RST_STREAM",
    SETTINGS: "SETTINGS",
    PING: "PING",
    GOAWAY: "GOAWAY",
    WINDOW_UPDATE: "WINDOW_UPDATE",
    CONTINUATION: "CONTINUATION",
}
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = range(1, 6)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# A case that passes ends with the frame that it waits for; the rest is for a busy machine.
WAIT_SECS, CONNECT_SECS = 5.0, 60.0
# A route that reads its body before it answers, without a key: after an early answer, what follows is ignored.
POST_PATH = "/api/v1/auth/login"


@dataclasses.dataclass
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self):
        """The error code of RST_STREAM and GOAWAY."""
        at = {RST_STREAM: 0, GOAWAY: 4}[self.kind]
        return int.from_bytes(self.payload[at : at + 4], "big")

    def __str__(self):
        code = f", code {self.code}" if self.kind in (RST_STREAM, GOAWAY) else ""
        return f"{NAMES.get(self.kind, self.kind)} of stream {self.stream}, flags {self.flags:#x}, {len(self.payload)} bytes{code}"


def frame(kind, flags=0, stream=0, payload=b"", reserved=0):
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack(">I", reserved << 31 | stream)
        + payload
    )


def integer(number, bits, first=0):
    """An integer of a header block, with a prefix of `bits` bits in the octet `first`."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([first | number])
    out, number = [first | most], number - most
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def literal(name, value, first=0x00):
    """A field by its name, neither indexed nor compressed."""
    name, value = name.encode(), value.encode()
    return bytes([first]) + integer(len(name), 7) + name + integer(len(value), 7) + value


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


class Closed(Exception):
    """The server has closed the connection."""


class Connection:
    """A connection to the server. `request` are the fields of a valid GET request."""

    def __init__(self, port, path):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_SECS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain)
        if self.socket.selected_alpn_protocol() != "h2":
            raise SystemExit("the server does not choose h2 by ALPN")
        self.buffer, self.settings, self.greeted = b"", {}, False
        self.request = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", f"127.0.0.1:{port}")]

    def post(self, *more):
        return [(":method", "POST"), self.request[1], (":path", POST_PATH), self.request[3], *more]

    def send(self, data):
        # A server that has closed already shows it when its frames are read.
        try:
            self.socket.sendall(data)
        except (OSError, ssl.SSLError):
            pass

    def frame(self, *args, **named):
        self.send(frame(*args, **named))

    def settings_frame(self, *pairs):
        self.frame(SETTINGS, payload=b"".join(struct.pack(">HI", *pair) for pair in pairs))

    def headers(self, stream=1, fields=None, flags=END_STREAM | END_HEADERS, more=b""):
        self.frame(HEADERS, flags, stream, block(self.request if fields is None else fields) + more)

    def data(self, stream=1, payload=b"test", flags=END_STREAM):
        self.frame(DATA, flags, stream, payload)

    def ping(self, payload=b"conform.", flags=0):
        self.frame(PING, flags, 0, payload)

    def handshake(self):
        """Exchanges settings; the server's are kept."""
        self.send(PREFACE)
        self.settings_frame()
        acknowledged = False
        while not (acknowledged and self.greeted):
            got = self.read()
            if got is None:
                raise AssertionError("the server does not send and acknowledge settings")
            if got.kind == SETTINGS and got.flags & ACK:
                acknowledged = True
            elif got.kind == SETTINGS:
                self.settings = dict(struct.iter_unpack(">HI", got.payload))
                self.greeted = True
                self.frame(SETTINGS, ACK)

    @property
    def max_frame(self):
        return self.settings.get(MAX_FRAME_SIZE, 16384)

    def read(self, until=None):
        """The next frame; `None` after a time without one."""
        until = until or time.monotonic() + WAIT_SECS
        while True:
            if len(self.buffer) >= 9:
                length = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + length:
                    head, payload = self.buffer[:9], self.buffer[9 : 9 + length]
                    self.buffer = self.buffer[9 + length :]
                    return Frame(head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload)
            left = until - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                received = self.socket.recv(65536)
            except TimeoutError:
                return None
            except (OSError, ssl.SSLError) as error:
                raise Closed from error
            if not received:
                raise Closed
            self.buffer += received

    def close(self):
        self.socket.close()
