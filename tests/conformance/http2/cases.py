"""Test cases for HTTP/2 servers, numbered and named by the sections of h2spec 2.6.0 (http2, generic, hpack).

h2spec itself is a Go program that no package registry of the other tools has. These cases are our own: each is written
from the requirement of RFC 9113 or RFC 7541 in its section. A case is a function of a connection after the exchange of
settings; it raises `AssertionError` where the server does not do what the RFC requires.
"""

import struct

from wire import (
    ACK,
    CANCEL,
    COMPRESSION_ERROR,
    CONTINUATION,
    DATA,
    ENABLE_PUSH,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE,
    NO_ERROR,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PRIORITY_FLAG,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    REFUSED_STREAM,
    RST_STREAM,
    SETTINGS,
    STREAM_CLOSED,
    WINDOW_UPDATE,
    Closed,
    block,
    integer,
    literal,
)

CASES = {}
# Cases that begin before the exchange of settings.
RAW = set()


def case(section, name, raw=False):
    def add(function):
        number = sum(1 for known in CASES if known.startswith(f"{section}/")) + 1
        CASES[f"{section}/{number}"] = (name, function)
        if raw:
            RAW.add(f"{section}/{number}")
        return function

    return add


# What is expected


def error(c, *codes, kinds=(GOAWAY, RST_STREAM)):
    """An error of the connection or the stream with one of the codes, or the end of the connection."""
    seen = []
    try:
        while (got := c.read()) is not None:
            if got.kind in kinds and got.code in codes:
                return
            seen.append(str(got))
    except Closed:
        return
    raise AssertionError(f"no error with code {' or '.join(map(str, codes))}; received: {'; '.join(seen) or 'nothing'}")


def connection_error(c, *codes):
    error(c, *codes, kinds=(GOAWAY,))


def closed(c):
    try:
        while c.read() is not None:
            pass
    except Closed:
        return
    raise AssertionError("the connection stays open")


def wait(c, accepts, what):
    seen = []
    try:
        while (got := c.read()) is not None:
            if accepts(got):
                return got
            seen.append(str(got))
    except Closed:
        seen.append("end of the connection")
    raise AssertionError(f"no {what}; received: {'; '.join(seen) or 'nothing'}")


def response(c, stream=1):
    return wait(c, lambda got: got.kind == HEADERS and got.stream == stream, f"response on stream {stream}")


def stream_end(c, stream=1):
    def ends(got):
        return got.stream == stream and (
            got.kind in (DATA, HEADERS) and got.flags & END_STREAM or got.kind == RST_STREAM and got.code == NO_ERROR
        )

    return wait(c, ends, "end of the stream")


def pong(c, payload=b"conform."):
    return wait(c, lambda got: got.kind == PING and got.flags & ACK and got.payload == payload, "answer to the ping")


def alive(c):
    c.ping()
    pong(c)


def pong_or_closed(c):
    c.ping()
    try:
        pong(c)
    except AssertionError as failed:
        if "end of the connection" not in str(failed):
            raise


def settings_ack(c):
    return wait(c, lambda got: got.kind == SETTINGS and got.flags & ACK, "acknowledgement of the settings")


def body(c, length):
    got = wait(c, lambda got: got.kind == DATA, "DATA")
    assert len(got.payload) == length, f"DATA of {len(got.payload)} bytes, not {length}"


def large_fields(count):
    return [(f"x-dummy{number}", "x" * 4000) for number in range(count)]


def more_fields(c, stream=1, flags=END_HEADERS):
    c.frame(CONTINUATION, flags, stream, block([("x-more", "y" * 100)]))


# 3 Starting HTTP/2


@case("http2/3.5", "Sends client connection preface", raw=True)
def _(c):
    c.send(PREFACE)
    c.settings_frame((INITIAL_WINDOW_SIZE, 65535))
    got = c.read()
    assert got and got.kind == SETTINGS and not got.flags & ACK, f"the first frame is {got}"


@case("http2/3.5", "Sends invalid connection preface", raw=True)
def _(c):
    c.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
    connection_error(c, PROTOCOL_ERROR)


# 4 HTTP frames


@case("http2/4.1", "Sends a frame with unknown type")
def _(c):
    c.frame(0x16, payload=bytes(8))
    alive(c)


@case("http2/4.1", "Sends a frame with undefined flag")
def _(c):
    c.frame(PING, 0x16, 0, bytes(8))
    pong(c, bytes(8))


@case("http2/4.1", "Sends a frame with reserved field bit")
def _(c):
    c.frame(PING, 0x16, 0, bytes(8), reserved=1)
    pong(c, bytes(8))


@case("http2/4.2", "Sends a DATA frame with 2^14 octets in length")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.data(payload=b"x" * 16384)
    response(c)


@case("http2/4.2", "Sends a large size DATA frame that exceeds the SETTINGS_MAX_FRAME_SIZE")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.data(payload=b"x" * (c.max_frame + 1))
    error(c, FRAME_SIZE_ERROR)


@case("http2/4.2", "Sends a large size HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE")
def _(c):
    c.headers(fields=[*c.request, *large_fields(c.max_frame // 4000 + 1)])
    connection_error(c, FRAME_SIZE_ERROR)


@case("http2/4.3", "Sends invalid header block fragment")
def _(c):
    c.frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x40")
    connection_error(c, COMPRESSION_ERROR)


@case("http2/4.3", "Sends a PRIORITY frame while sending the header blocks")
def _(c):
    c.headers(flags=0)
    c.frame(PRIORITY, 0, 1, bytes([0, 0, 0, 0, 255]))
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/4.3", "Sends a HEADERS frame to another stream while sending the header blocks")
def _(c):
    c.headers(flags=0)
    c.headers(3)
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


# 5 Streams and multiplexing


@case("http2/5.1", "idle: Sends a DATA frame")
def _(c):
    c.data()
    error(c, PROTOCOL_ERROR, STREAM_CLOSED)


@case("http2/5.1", "idle: Sends a RST_STREAM frame")
def _(c):
    c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/5.1", "idle: Sends a WINDOW_UPDATE frame")
def _(c):
    c.frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 100))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/5.1", "idle: Sends a CONTINUATION frame")
def _(c):
    c.frame(CONTINUATION, END_HEADERS, 1, block(c.request))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/5.1", "half closed (remote): Sends a DATA frame")
def _(c):
    c.headers()
    c.data()
    error(c, STREAM_CLOSED)


@case("http2/5.1", "half closed (remote): Sends a HEADERS frame")
def _(c):
    c.headers()
    c.headers()
    error(c, STREAM_CLOSED)


@case("http2/5.1", "half closed (remote): Sends a CONTINUATION frame")
def _(c):
    c.headers()
    c.frame(CONTINUATION, END_HEADERS, 1, block(c.request))
    error(c, STREAM_CLOSED, PROTOCOL_ERROR)


@case("http2/5.1", "closed: Sends a DATA frame after sending RST_STREAM frame")
def _(c):
    c.headers(flags=END_HEADERS)
    c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))
    c.data()
    error(c, STREAM_CLOSED)


@case("http2/5.1", "closed: Sends a HEADERS frame after sending RST_STREAM frame")
def _(c):
    c.headers(flags=END_HEADERS)
    c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))
    c.headers()
    error(c, STREAM_CLOSED)


@case("http2/5.1", "closed: Sends a CONTINUATION frame after sending RST_STREAM frame")
def _(c):
    c.headers(flags=END_HEADERS)
    c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))
    more_fields(c)
    error(c, STREAM_CLOSED, PROTOCOL_ERROR)


@case("http2/5.1", "closed: Sends a DATA frame")
def _(c):
    c.headers()
    stream_end(c)
    c.data()
    error(c, STREAM_CLOSED)


@case("http2/5.1", "closed: Sends a HEADERS frame")
def _(c):
    c.headers()
    stream_end(c)
    c.headers()
    connection_error(c, STREAM_CLOSED)


@case("http2/5.1", "closed: Sends a CONTINUATION frame")
def _(c):
    c.headers()
    stream_end(c)
    more_fields(c)
    connection_error(c, STREAM_CLOSED, PROTOCOL_ERROR)


@case("http2/5.1.1", "Sends even-numbered stream identifier")
def _(c):
    c.headers(2)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/5.1.1", "Sends stream identifier that is numerically smaller than previous")
def _(c):
    c.headers(5)
    c.headers(3)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/5.1.2", "Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded")
def _(c):
    most = c.settings.get(MAX_CONCURRENT_STREAMS)
    if most is None:
        raise AssertionError("the server advertises no SETTINGS_MAX_CONCURRENT_STREAMS: streams are not bounded")
    # Without a window no response ends, so that each stream stays open.
    c.settings_frame((INITIAL_WINDOW_SIZE, 0))
    for number in range(most + 1):
        c.headers(1 + 2 * number, fields=c.post(), flags=END_HEADERS)
    error(c, PROTOCOL_ERROR, REFUSED_STREAM)


@case("http2/5.3.1", "Sends HEADERS frame that depends on itself")
def _(c):
    c.frame(HEADERS, END_STREAM | END_HEADERS | PRIORITY_FLAG, 1, bytes([0, 0, 0, 1, 255]) + block(c.request))
    error(c, PROTOCOL_ERROR)


@case("http2/5.3.1", "Sends PRIORITY frame that depend on itself")
def _(c):
    c.frame(PRIORITY, 0, 1, bytes([0, 0, 0, 1, 255]))
    error(c, PROTOCOL_ERROR)


@case("http2/5.4.1", "Sends an invalid PING frame for connection close")
def _(c):
    c.frame(PING, 0, 3, bytes(8))
    closed(c)


@case("http2/5.4.1", "Sends an invalid PING frame to receive GOAWAY frame")
def _(c):
    c.frame(PING, 0, 3, bytes(8))
    wait(c, lambda got: got.kind == GOAWAY and got.code == PROTOCOL_ERROR, "GOAWAY")


@case("http2/5.5", "Sends an unknown extension frame")
def _(c):
    c.frame(0x16, payload=bytes(8))
    alive(c)


@case("http2/5.5", "Sends an unknown extension frame in the middle of a header block")
def _(c):
    c.headers(flags=END_STREAM)
    c.frame(0x16, payload=bytes(8))
    connection_error(c, PROTOCOL_ERROR)


# 6 Frame definitions


@case("http2/6.1", "Sends a DATA frame with 0x0 stream identifier")
def _(c):
    c.data(0)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.1", 'Sends a DATA frame on the stream that is not in "open" or "half-closed (local)" state')
def _(c):
    c.headers(fields=c.post())
    c.data()
    error(c, STREAM_CLOSED)


@case("http2/6.1", "Sends a DATA frame with invalid pad length")
def _(c):
    c.headers(fields=c.post(("content-length", "4")), flags=END_HEADERS)
    c.frame(DATA, END_STREAM | PADDED, 1, b"\x06Test")
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.2", "Sends a HEADERS frame without the END_HEADERS flag, and a PRIORITY frame")
def _(c):
    c.headers(flags=0)
    c.frame(PRIORITY, 0, 1, bytes([0, 0, 0, 0, 255]))
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.2", "Sends a HEADERS frame to another stream while sending a HEADERS frame")
def _(c):
    c.headers(flags=0)
    c.headers(3)
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.2", "Sends a HEADERS frame with 0x0 stream identifier")
def _(c):
    c.headers(0)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.2", "Sends a HEADERS frame with invalid pad length")
def _(c):
    fields = block(c.request)
    c.frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, bytes([min(len(fields) + 2, 255)]) + fields)
    error(c, PROTOCOL_ERROR)


@case("http2/6.3", "Sends a PRIORITY frame with 0x0 stream identifier")
def _(c):
    c.frame(PRIORITY, 0, 0, bytes([0, 0, 0, 0, 255]))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.3", "Sends a PRIORITY frame with a length other than 5 octets")
def _(c):
    c.headers()
    c.frame(PRIORITY, 0, 1, b"\x80\x00\x00\x01")
    error(c, FRAME_SIZE_ERROR)


@case("http2/6.4", "Sends a RST_STREAM frame with 0x0 stream identifier")
def _(c):
    c.frame(RST_STREAM, 0, 0, struct.pack(">I", CANCEL))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.4", "Sends a RST_STREAM frame on a idle stream")
def _(c):
    c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.4", "Sends a RST_STREAM frame with a length other than 4 octets")
def _(c):
    c.headers()
    c.frame(RST_STREAM, 0, 1, bytes(3))
    connection_error(c, FRAME_SIZE_ERROR)


@case("http2/6.5", "Sends a SETTINGS frame with ACK flag and payload")
def _(c):
    c.frame(SETTINGS, ACK, 0, b"\x00")
    connection_error(c, FRAME_SIZE_ERROR)


@case("http2/6.5", "Sends a SETTINGS frame with a stream identifier other than 0x0")
def _(c):
    c.frame(SETTINGS, 0, 1, struct.pack(">HI", MAX_CONCURRENT_STREAMS, 100))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.5", "Sends a SETTINGS frame with a length other than a multiple of 6 octets")
def _(c):
    c.frame(SETTINGS, 0, 0, b"\x00\x03\x00")
    connection_error(c, FRAME_SIZE_ERROR)


@case("http2/6.5.2", "SETTINGS_ENABLE_PUSH (0x2): Sends the value other than 0 or 1")
def _(c):
    c.settings_frame((ENABLE_PUSH, 2))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE (0x4): Sends the value above the maximum flow control window size")
def _(c):
    c.settings_frame((INITIAL_WINDOW_SIZE, 1 << 31))
    connection_error(c, FLOW_CONTROL_ERROR)


@case("http2/6.5.2", "SETTINGS_MAX_FRAME_SIZE (0x5): Sends the value below the initial value")
def _(c):
    c.settings_frame((MAX_FRAME_SIZE, 16383))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.5.2", "SETTINGS_MAX_FRAME_SIZE (0x5): Sends the value above the maximum allowed frame size")
def _(c):
    c.settings_frame((MAX_FRAME_SIZE, 1 << 24))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.5.2", "Sends a SETTINGS frame with unknown identifier")
def _(c):
    c.settings_frame((0xFF, 1))
    alive(c)


@case("http2/6.5.3", "Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE")
def _(c):
    c.settings_frame((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1))
    settings_ack(c)
    c.headers()
    body(c, 1)


@case("http2/6.5.3", "Sends a SETTINGS frame without ACK flag")
def _(c):
    c.settings_frame((ENABLE_PUSH, 0))
    settings_ack(c)


@case("http2/6.7", "Sends a PING frame")
def _(c):
    alive(c)


@case("http2/6.7", "Sends a PING frame with ACK")
def _(c):
    c.ping(b"invalid.", ACK)
    c.ping()
    got = wait(c, lambda got: got.kind == PING, "PING")
    assert got.payload == b"conform." and got.flags & ACK, str(got)


@case("http2/6.7", "Sends a PING frame with a stream identifier field value other than 0x0")
def _(c):
    c.frame(PING, 0, 1, bytes(8))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.7", "Sends a PING frame with a length field value other than 8")
def _(c):
    c.frame(PING, 0, 0, bytes(6))
    connection_error(c, FRAME_SIZE_ERROR)


@case("http2/6.8", "Sends a GOAWAY frame with a stream identifier other than 0x0")
def _(c):
    c.frame(GOAWAY, 0, 1, bytes(8))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.9", "Sends a WINDOW_UPDATE frame with a flow control window increment of 0")
def _(c):
    c.frame(WINDOW_UPDATE, 0, 0, bytes(4))
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.9", "Sends a WINDOW_UPDATE frame with a flow control window increment of 0 on a stream")
def _(c):
    c.headers(flags=END_HEADERS)
    c.frame(WINDOW_UPDATE, 0, 1, bytes(4))
    error(c, PROTOCOL_ERROR)


@case("http2/6.9", "Sends a WINDOW_UPDATE frame with a length other than 4 octets")
def _(c):
    c.frame(WINDOW_UPDATE, 0, 0, bytes(3))
    connection_error(c, FRAME_SIZE_ERROR)


@case("http2/6.9.1", "Sends SETTINGS frame to set the initial window size to 1 and sends HEADERS frame")
def _(c):
    c.settings_frame((INITIAL_WINDOW_SIZE, 1))
    settings_ack(c)
    c.headers()
    body(c, 1)


@case("http2/6.9.1", "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1")
def _(c):
    for _ in range(2):
        c.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1))
    wait(c, lambda got: got.kind == GOAWAY and got.code == FLOW_CONTROL_ERROR, "GOAWAY with FLOW_CONTROL_ERROR")


@case(
    "http2/6.9.1", "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream"
)
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    for _ in range(2):
        c.frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", (1 << 31) - 1))
    wait(
        c,
        lambda got: got.kind == RST_STREAM and got.stream == 1 and got.code == FLOW_CONTROL_ERROR,
        "RST_STREAM with FLOW_CONTROL_ERROR",
    )


@case("http2/6.9.2", "Changes SETTINGS_INITIAL_WINDOW_SIZE after sending HEADERS frame")
def _(c):
    c.settings_frame((INITIAL_WINDOW_SIZE, 0))
    settings_ack(c)
    c.headers()
    c.settings_frame((INITIAL_WINDOW_SIZE, 1))
    body(c, 1)


@case("http2/6.9.2", "Sends a SETTINGS frame for window size to be negative")
def _(c):
    c.settings_frame((INITIAL_WINDOW_SIZE, 3))
    settings_ack(c)
    c.headers()
    body(c, 3)
    c.settings_frame((INITIAL_WINDOW_SIZE, 2))
    settings_ack(c)
    c.frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 2))
    body(c, 1)


@case("http2/6.9.2", "Sends a SETTINGS_INITIAL_WINDOW_SIZE settings with an exceeded maximum window size value")
def _(c):
    c.settings_frame((INITIAL_WINDOW_SIZE, 1 << 31))
    connection_error(c, FLOW_CONTROL_ERROR)


@case("http2/6.10", "Sends multiple CONTINUATION frames preceded by a HEADERS frame")
def _(c):
    c.headers(flags=END_STREAM)
    more_fields(c, flags=0)
    more_fields(c)
    response(c)


@case("http2/6.10", "Sends a CONTINUATION frame followed by any frame other than CONTINUATION")
def _(c):
    c.headers(fields=c.post(), flags=0)
    more_fields(c, flags=0)
    c.data()
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.10", "Sends a CONTINUATION frame with 0x0 stream identifier")
def _(c):
    c.headers(flags=END_STREAM)
    more_fields(c, 0)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.10", "Sends a CONTINUATION frame preceded by a HEADERS frame with END_HEADERS flag")
def _(c):
    c.headers()
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.10", "Sends a CONTINUATION frame preceded by a CONTINUATION frame with END_HEADERS flag")
def _(c):
    c.headers(flags=END_STREAM)
    more_fields(c)
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


@case("http2/6.10", "Sends a CONTINUATION frame preceded by a DATA frame")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.data(flags=0)
    more_fields(c)
    connection_error(c, PROTOCOL_ERROR)


# 7 Error codes


@case("http2/7", "Sends a GOAWAY frame with unknown error code")
def _(c):
    c.frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0xFF))
    pong_or_closed(c)


@case("http2/7", "Sends a RST_STREAM frame with unknown error code")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.frame(RST_STREAM, 0, 1, struct.pack(">I", 0xFF))
    pong_or_closed(c)


# 8 HTTP message exchanges


@case("http2/8.1", "Sends a second HEADERS frame without the END_STREAM flag")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.data(flags=0)
    c.headers(fields=[("x-test", "ok")], flags=END_HEADERS)
    error(c, PROTOCOL_ERROR)


def malformed(section, name, fields):
    """A request that is malformed by its fields alone (RFC 9113, section 8.1.1)."""

    @case(section, name)
    def _(c):
        c.headers(fields=fields(c))
        error(c, PROTOCOL_ERROR)


malformed(
    "http2/8.1.2",
    "Sends a HEADERS frame that contains the header field name in uppercase letters",
    lambda c: [*c.request, ("X-TEST", "ok")],
)
malformed(
    "http2/8.1.2.1",
    "Sends a HEADERS frame that contains a unknown pseudo-header field",
    lambda c: [*c.request, (":test", "ok")],
)
malformed(
    "http2/8.1.2.1",
    "Sends a HEADERS frame that contains the pseudo-header field defined for response",
    lambda c: [*c.request, (":status", "200")],
)


@case("http2/8.1.2.1", "Sends a HEADERS frame that contains a pseudo-header field as trailers")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.data(flags=0)
    c.headers(fields=[(":method", "POST")], flags=END_HEADERS)
    error(c, PROTOCOL_ERROR)


@case("more/8.1.2.1", "Sends a HEADERS frame that contains a pseudo-header field as trailers, with END_STREAM")
def _(c):
    c.headers(fields=c.post(), flags=END_HEADERS)
    c.data(flags=0)
    c.headers(fields=[(":method", "POST")])
    error(c, PROTOCOL_ERROR)


malformed(
    "http2/8.1.2.1",
    "Sends a HEADERS frame that contains a pseudo-header field that appears in a header block after a regular header field",
    lambda c: [("x-test", "ok"), *c.request],
)
malformed(
    "http2/8.1.2.2",
    "Sends a HEADERS frame that contains the connection-specific header field",
    lambda c: [*c.request, ("connection", "keep-alive")],
)
malformed(
    "http2/8.1.2.2",
    'Sends a HEADERS frame that contains the TE header field with any value other than "trailers"',
    lambda c: [*c.request, ("te", "trailers, deflate")],
)
malformed(
    "http2/8.1.2.3",
    'Sends a HEADERS frame with empty ":path" pseudo-header field',
    lambda c: [c.request[0], c.request[1], (":path", ""), c.request[3]],
)
malformed("http2/8.1.2.3", 'Sends a HEADERS frame that omits ":method" pseudo-header field', lambda c: c.request[1:])
malformed(
    "http2/8.1.2.3",
    'Sends a HEADERS frame that omits ":scheme" pseudo-header field',
    lambda c: [c.request[0], *c.request[2:]],
)
malformed(
    "http2/8.1.2.3",
    'Sends a HEADERS frame that omits ":path" pseudo-header field',
    lambda c: [*c.request[:2], c.request[3]],
)
malformed(
    "http2/8.1.2.3",
    'Sends a HEADERS frame with duplicated ":method" pseudo-header field',
    lambda c: [c.request[0], *c.request],
)
malformed(
    "http2/8.1.2.3",
    'Sends a HEADERS frame with duplicated ":scheme" pseudo-header field',
    lambda c: [c.request[1], *c.request],
)
malformed(
    "http2/8.1.2.3",
    'Sends a HEADERS frame with duplicated ":path" pseudo-header field',
    lambda c: [c.request[2], *c.request],
)


@case(
    "http2/8.1.2.6",
    'Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length',
)
def _(c):
    c.headers(fields=c.post(("content-length", "1")), flags=END_HEADERS)
    c.data()
    error(c, PROTOCOL_ERROR)


@case(
    "http2/8.1.2.6",
    'Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the multiple DATA frames payload length',
)
def _(c):
    c.headers(fields=c.post(("content-length", "1")), flags=END_HEADERS)
    c.data(flags=0)
    c.data()
    error(c, PROTOCOL_ERROR)


@case("http2/8.2", "Sends a PUSH_PROMISE frame")
def _(c):
    c.headers(flags=END_HEADERS)
    c.frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 3) + block(c.request))
    connection_error(c, PROTOCOL_ERROR)


# Generic: what must be accepted


def accepted(section, name, send, expect=response):
    @case(section, name)
    def _(c):
        send(c)
        expect(c)


def priority(c, stream, weight=0, on=0, exclusive=0):
    c.frame(PRIORITY, 0, stream, struct.pack(">IB", exclusive << 31 | on, weight))


def each(*steps):
    def send(c):
        for step in steps:
            step(c)

    return send


def has_data(c):
    return wait(c, lambda got: got.kind == DATA, "DATA")


accepted("generic/2", "Sends a PRIORITY frame on idle stream", lambda c: priority(c, 1), alive)
accepted(
    "generic/2",
    "Sends a WINDOW_UPDATE frame on half-closed (remote) stream",
    each(lambda c: c.headers(), lambda c: c.frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1))),
    has_data,
)
accepted(
    "generic/2",
    "Sends a PRIORITY frame on half-closed (remote) stream",
    each(lambda c: c.headers(), lambda c: priority(c, 1)),
    has_data,
)
accepted(
    "generic/2",
    "Sends a RST_STREAM frame on half-closed (remote) stream",
    each(lambda c: c.headers(), lambda c: c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))),
    pong_or_closed,
)
accepted(
    "generic/2",
    "Sends a PRIORITY frame on closed stream",
    each(lambda c: c.headers(), stream_end, lambda c: priority(c, 1)),
    alive,
)
accepted(
    "generic/3.1",
    "Sends a DATA frame",
    each(lambda c: c.headers(fields=c.post(), flags=END_HEADERS), lambda c: c.data()),
)
accepted(
    "generic/3.1",
    "Sends multiple DATA frames",
    each(lambda c: c.headers(fields=c.post(), flags=END_HEADERS), lambda c: c.data(flags=0), lambda c: c.data()),
)
accepted(
    "generic/3.1",
    "Sends a DATA frame with padding",
    each(
        lambda c: c.headers(fields=c.post(), flags=END_HEADERS),
        lambda c: c.frame(DATA, END_STREAM | PADDED, 1, b"\x06test" + bytes(6)),
    ),
)
accepted("generic/3.2", "Sends a HEADERS frame", lambda c: c.headers())
accepted(
    "generic/3.2",
    "Sends a HEADERS frame with padding",
    lambda c: c.frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, b"\x06" + block(c.request) + bytes(6)),
)
accepted(
    "generic/3.2",
    "Sends a HEADERS frame with priority",
    lambda c: c.frame(
        HEADERS, END_STREAM | END_HEADERS | PRIORITY_FLAG, 1, bytes([0, 0, 0, 0, 255]) + block(c.request)
    ),
)
accepted("generic/3.3", "Sends a PRIORITY frame with priority 1", each(lambda c: priority(c, 1), lambda c: c.headers()))
accepted(
    "generic/3.3",
    "Sends a PRIORITY frame with priority 256",
    each(lambda c: priority(c, 1, 255), lambda c: c.headers()),
)
accepted(
    "generic/3.3",
    "Sends a PRIORITY frame with stream dependency",
    each(lambda c: priority(c, 1, 255, 3), lambda c: c.headers()),
)
accepted(
    "generic/3.3",
    "Sends a PRIORITY frame with exclusive",
    each(lambda c: priority(c, 1, 255, 3, 1), lambda c: c.headers()),
)
accepted(
    "generic/3.3",
    "Sends a PRIORITY frame for an idle stream, then send a HEADER frame for a lower stream ID",
    each(lambda c: priority(c, 3, 255), lambda c: c.headers()),
)
accepted(
    "generic/3.4",
    "Sends a RST_STREAM frame",
    each(lambda c: c.headers(flags=END_HEADERS), lambda c: c.frame(RST_STREAM, 0, 1, struct.pack(">I", CANCEL))),
    pong_or_closed,
)
accepted("generic/3.5", "Sends a SETTINGS frame", lambda c: c.settings_frame((ENABLE_PUSH, 0)), settings_ack)
accepted("generic/3.7", "Sends a PING frame", lambda c: c.ping(), pong)
accepted("generic/3.8", "Sends a GOAWAY frame", lambda c: c.frame(GOAWAY, 0, 0, bytes(8)), pong_or_closed)
accepted(
    "generic/3.9",
    "Sends a WINDOW_UPDATE frame with stream ID 0",
    lambda c: c.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)),
    alive,
)
accepted(
    "generic/3.9",
    "Sends a WINDOW_UPDATE frame with stream ID 1",
    each(
        lambda c: c.headers(flags=END_HEADERS),
        lambda c: c.frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)),
        lambda c: c.data(),
    ),
)
accepted("generic/3.10", "Sends a CONTINUATION frame", each(lambda c: c.headers(flags=END_STREAM), more_fields))
accepted(
    "generic/3.10",
    "Sends multiple CONTINUATION frames",
    each(lambda c: c.headers(flags=END_STREAM), lambda c: more_fields(c, flags=0), more_fields),
)
accepted("generic/4", "Sends a GET request", lambda c: c.headers())
accepted("generic/4", "Sends a HEAD request", lambda c: c.headers(fields=[(":method", "HEAD"), *c.request[1:]]))
accepted(
    "generic/4",
    "Sends a POST request",
    each(lambda c: c.headers(fields=c.post(), flags=END_HEADERS), lambda c: c.data()),
)
accepted(
    "generic/4",
    "Sends a POST request with trailers",
    each(
        lambda c: c.headers(fields=c.post(("trailer", "x-test")), flags=END_HEADERS),
        lambda c: c.data(flags=0),
        lambda c: c.headers(fields=[("x-test", "ok")]),
    ),
)

NAME, VALUE = b"\x06x-test", b"\x04test"
# "x-test" and "test" in the code of RFC 7541, appendix B.
CODED_NAME, CODED_VALUE = b"\x85\xf2\xb2\x4a\x84\xff", b"\x83\x49\x50\x9f"
# user-agent is entry 58 of the static table.
for section, indexed, new, bits in (
    ("with incremental indexing", 0x40, 0x40, 6),
    ("without indexing", 0x00, 0x00, 4),
    ("never indexed", 0x10, 0x10, 4),
):
    for name, field in (
        ("indexed name", integer(58, bits, indexed) + VALUE),
        ("indexed name (with Huffman coding)", integer(58, bits, indexed) + CODED_VALUE),
        ("new name", bytes([new]) + NAME + VALUE),
        ("new name (with Huffman coding)", bytes([new]) + CODED_NAME + CODED_VALUE),
    ):
        accepted(
            "generic/5",
            f"Sends a literal header field {section} - {name}",
            lambda c, field=field: c.headers(more=field),
        )
accepted(
    "generic/5",
    "Sends a indexed header field representation",
    # accept-encoding: gzip, deflate is entry 16 of the static table.
    lambda c: c.headers(more=integer(16, 7, 0x80)),
)
accepted(
    "generic/5",
    "Sends a dynamic table size update",
    lambda c: c.frame(HEADERS, END_STREAM | END_HEADERS, 1, integer(128, 5, 0x20) + block(c.request)),
)
accepted(
    "generic/5",
    "Sends multiple dynamic table size update",
    lambda c: c.frame(
        HEADERS, END_STREAM | END_HEADERS, 1, integer(128, 5, 0x20) + integer(4096, 5, 0x20) + block(c.request)
    ),
)


# HPACK: what cannot be decoded


def undecodable(section, name, more=b"", before=b""):
    @case(section, name)
    def _(c):
        c.frame(HEADERS, END_STREAM | END_HEADERS, 1, before + block(c.request) + more)
        connection_error(c, COMPRESSION_ERROR)


undecodable("hpack/2.3.3", "Sends a indexed header field representation with invalid index", integer(70, 7, 0x80))
undecodable(
    "hpack/2.3.3", "Sends a literal header field representation with invalid index", integer(70, 6, 0x40) + b"\x00"
)
undecodable("hpack/4.2", "Sends a dynamic table size update at the end of header block", integer(1, 5, 0x20))
undecodable(
    "hpack/5.2",
    "Sends a Huffman-encoded string literal representation with padding longer than 7 bits",
    b"\x00" + CODED_NAME + b"\x84\x49\x50\x9f\xff",
)
undecodable(
    "hpack/5.2",
    "Sends a Huffman-encoded string literal representation padded by zero",
    b"\x00" + CODED_NAME + b"\x83\x49\x50\x90",
)
undecodable(
    "hpack/5.2",
    "Sends a Huffman-encoded string literal representation containing the EOS symbol",
    b"\x00" + CODED_NAME + b"\x87\x49\x51\xff\xff\xff\xfa\x7f",
)
undecodable("hpack/6.1", "Sends a indexed header field representation with index 0", b"\x80")
undecodable(
    "hpack/6.3",
    "Sends a dynamic table size update larger than the value of SETTINGS_HEADER_TABLE_SIZE",
    before=integer(4097, 5, 0x20),
)


# More than h2spec has: floods that a server must end or survive


@case("more/10.5", "Sends CONTINUATION frames without an end (CVE-2024-27316)")
def _(c):
    c.headers(flags=END_STREAM)
    for _ in range(2_600):
        c.frame(CONTINUATION, 0, 1, literal("x-flood", "y" * 8000))
    # 20 MB of fields that never end: the library gives up at 16 MiB.
    error(c, PROTOCOL_ERROR, COMPRESSION_ERROR, ENHANCE_YOUR_CALM)


@case("more/10.5", "Opens and resets 5,000 streams (CVE-2023-44487)")
def _(c):
    for number in range(5_000):
        c.headers(1 + 2 * number, fields=c.post(), flags=END_HEADERS)
        c.frame(RST_STREAM, 0, 1 + 2 * number, struct.pack(">I", CANCEL))
    pong_or_closed(c)


@case("more/10.5", "Sends 20,000 PING frames without reading")
def _(c):
    for _ in range(20_000):
        c.ping()
    pong_or_closed(c)
