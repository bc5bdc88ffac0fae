"""A WebSocket client for the cases of the Autobahn testsuite: what they call, as autobahn 0.10.9 does it for them.

Unlike a client for use, it sends what a case wants, right or wrong. Texts hold one character for each byte.
"""

import asyncio
import base64
import os

CLOSE_HANDSHAKE_SECS = 1
SERVER_DROP_SECS = 1
HANDSHAKE_SECS = 10


class States:
    """States and close codes, by the names that the cases use."""

    STATE_CLOSED, STATE_CONNECTING, STATE_CLOSING, STATE_OPEN = range(4)
    MESSAGE_TYPE_TEXT, MESSAGE_TYPE_BINARY = 1, 2
    CLOSE_STATUS_CODE_NORMAL = 1000
    CLOSE_STATUS_CODE_GOING_AWAY = 1001
    CLOSE_STATUS_CODE_PROTOCOL_ERROR = 1002
    CLOSE_STATUS_CODE_UNSUPPORTED_DATA = 1003
    CLOSE_STATUS_CODE_INVALID_PAYLOAD = 1007
    CLOSE_STATUS_CODE_POLICY_VIOLATION = 1008
    CLOSE_STATUS_CODE_MESSAGE_TOO_BIG = 1009


class Factory:
    isServer = False


class Violation(Exception):
    """The server's frames break RFC 6455."""

    def __init__(self, code, why):
        super().__init__(why)
        self.code = code


def masked(payload):
    key = os.urandom(4)
    whole = int.from_bytes(payload, "little") ^ int.from_bytes(
        (key * (len(payload) // 4 + 1))[: len(payload)], "little"
    )
    return key + whole.to_bytes(len(payload), "little")


def header(opcode, length, fin=True, rsv=0):
    first = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    if length <= 125:
        return first + bytes([0x80 | length])
    if length <= 0xFFFF:
        return first + bytes([0x80 | 126]) + length.to_bytes(2, "big")
    return first + bytes([0x80 | 127]) + length.to_bytes(8, "big")


class Peer(States):
    """One connection, for one case."""

    def __init__(self, make_case):
        self.factory = Factory()
        self.state = self.STATE_CONNECTING
        self.connectionWasOpen = False
        self.closedByMe = self.failedByMe = self.droppedByMe = self.wasClean = False
        self.localCloseCode = self.localCloseReason = self.remoteCloseCode = self.remoteCloseReason = None
        self.createWirelog = True
        self.trafficStats = None
        self.autoFragmentSize = 0
        self.txFrameStats, self.rxFrameStats = {}, {}
        self.timers, self.chopped = [], None
        self.violation = None
        # Of the message that is sent in parts.
        self.sendOpcode, self.frameKey, self.frameSent = 0, b"", 0
        self.case = make_case(self)

    async def run(self, port, seconds):
        """Plays the case until the connection ends."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        try:
            await asyncio.wait_for(self.handshake(port), HANDSHAKE_SECS)
            self.state, self.connectionWasOpen = self.STATE_OPEN, True
            self.case.onOpen()
            await asyncio.wait_for(self.receive(), seconds)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass
        self.state = self.STATE_CLOSED
        for timer in self.timers:
            timer.cancel()
        self.writer.transport.abort()
        if self.chopped:
            self.chopped.cancel()
        self.case.onConnectionLost(self.failedByMe)

    async def handshake(self, port):
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET / HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Origin: http://127.0.0.1:{port}",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await self.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise SystemExit(f"the handshake is refused: {answer.decode()}")

    # Reading

    async def receive(self):
        message, kind = [], 0
        while True:
            try:
                fin, opcode, payload = await self.frame()
                self.rxFrameStats[opcode] = self.rxFrameStats.get(opcode, 0) + 1
                if opcode >= 8:
                    self.control(opcode, payload)
                    continue
                if (opcode == 0) != bool(kind):
                    raise Violation(1002, "a continuation of nothing, or a message within a message")
                kind = kind or opcode
                message.append(payload)
                if fin:
                    whole, done, message, kind = b"".join(message), kind, [], 0
                    self.message(whole, done == 2)
            except Violation as violation:
                self.violation = str(violation)
                self.failConnection(violation.code)

    async def frame(self):
        first, second = await self.reader.readexactly(2)
        fin, opcode, length = bool(first & 0x80), first & 15, second & 0x7F
        if length >= 126:
            length = int.from_bytes(await self.reader.readexactly(2 if length == 126 else 8), "big")
        payload = await self.reader.readexactly(length)
        if (
            second & 0x80
            or first & 0x70
            or opcode not in (0, 1, 2, 8, 9, 10)
            or (opcode >= 8 and (not fin or length > 125))
        ):
            raise Violation(1002, f"a frame that a server may not send: {first:#x} {second:#x}")
        return fin, opcode, payload

    def control(self, opcode, payload):
        if opcode == 8:
            self.closed(payload)
        elif opcode == 9:
            self.sendFrame(10, payload.decode("latin-1"))
        elif self.state in (self.STATE_OPEN, self.STATE_CLOSING):
            self.case.onPong(payload.decode("latin-1"))

    def message(self, payload, binary):
        if not binary:
            try:
                payload.decode()
            except UnicodeDecodeError as error:
                raise Violation(1007, "a text that is not UTF-8") from error
        # One that arrives while this side closes is not handled any more.
        if self.state == self.STATE_OPEN:
            self.case.onMessage(payload.decode("latin-1"), binary)

    def closed(self, payload):
        self.remoteCloseCode = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else None
        self.remoteCloseReason = payload[2:].decode("latin-1")
        wrong = (
            len(payload) == 1
            or self.remoteCloseCode is not None
            and not (
                self.remoteCloseCode in (1000, 1001, 1002, 1003, *range(1007, 1015))
                or 3000 <= self.remoteCloseCode < 5000
            )
        )
        if wrong:
            raise Violation(1002, f"a close frame with code {self.remoteCloseCode}")
        if self.state == self.STATE_OPEN:
            self.wasClean = True
            self.sendCloseFrame(self.CLOSE_STATUS_CODE_NORMAL, isReply=True)
        elif self.state == self.STATE_CLOSING:
            self.wasClean = True
        # The server ends the connection.
        self.later(SERVER_DROP_SECS, self.server_did_not_drop)

    def server_did_not_drop(self):
        self.wasClean = False
        self.drop()

    # Writing

    def sendFrame(self, opcode, payload="", fin=True, rsv=0, mask=None, payload_len=None, chopsize=None, sync=False):
        data = payload.encode("latin-1")
        if payload_len is not None:
            if not data:
                raise ValueError("a length without a payload")
            data = (data * (payload_len // len(data) + 1))[:payload_len]
        self.txFrameStats[opcode] = self.txFrameStats.get(opcode, 0) + 1
        self.send(header(opcode, len(data), fin, rsv) + masked(data), chopsize)

    def send(self, data, chopsize=None):
        if chopsize or (self.chopped and not self.chopped.done()):
            self.chopped = asyncio.ensure_future(self.chop(self.chopped, data, chopsize or len(data)))
        else:
            self.writer.write(data)

    async def chop(self, before, data, size):
        if before:
            await before
        for at in range(0, len(data), size):
            self.writer.write(data[at : at + size])
            await self.next_turn()

    @staticmethod
    async def next_turn():
        """Lets the loop write before anything else is added."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        loop.call_soon(turn.set_result, None)
        await turn

    def sendMessage(self, payload, isBinary=False, fragmentSize=None, sync=False, doNotCompress=False):
        if self.state != self.STATE_OPEN:
            return
        size = fragmentSize or self.autoFragmentSize or max(len(payload), 1)
        pieces = [payload[at : at + size] for at in range(0, len(payload), size)] or [""]
        for number, piece in enumerate(pieces):
            opcode = (2 if isBinary else 1) if number == 0 else 0
            self.sendFrame(opcode, piece, fin=number + 1 == len(pieces))

    def beginMessage(self, isBinary=False, doNotCompress=False):
        self.sendOpcode = 2 if isBinary else 1

    def beginMessageFrame(self, length):
        self.frameKey, self.frameSent = os.urandom(4), 0
        self.send(header(self.sendOpcode, length, fin=False) + self.frameKey)
        self.sendOpcode = 0

    def sendMessageFrameData(self, payload, sync=False):
        data = payload.encode("latin-1")
        self.send(bytes(byte ^ self.frameKey[(self.frameSent + at) % 4] for at, byte in enumerate(data)))
        self.frameSent += len(data)

    def endMessage(self):
        self.sendFrame(0, fin=True)

    def sendClose(self, code=None, reason=None):
        self.sendCloseFrame(code, reason.encode().decode("latin-1")[:123] if reason else None)

    def sendCloseFrame(self, code=None, reasonUtf8=None, isReply=False):
        if self.state != self.STATE_OPEN:
            return
        payload = ("" if code is None else code.to_bytes(2, "big").decode("latin-1")) + (reasonUtf8 or "")
        self.sendFrame(8, payload)
        self.state, self.closedByMe = self.STATE_CLOSING, not isReply
        self.localCloseCode, self.localCloseReason = code, reasonUtf8
        if self.closedByMe:
            self.later(CLOSE_HANDSHAKE_SECS, self.close_was_not_answered)

    def close_was_not_answered(self):
        if self.remoteCloseCode is None and not self.wasClean:
            self.wasClean = False
            self.drop()

    def failConnection(self, code=States.CLOSE_STATUS_CODE_GOING_AWAY, reason="going away"):
        if self.state == self.STATE_CLOSED:
            return
        self.failedByMe = True
        if self.state == self.STATE_CLOSING:
            self.drop()
        else:
            self.sendClose(code, reason)

    def drop(self):
        if self.state != self.STATE_CLOSED:
            self.droppedByMe, self.state = True, self.STATE_CLOSED
            self.writer.transport.abort()

    # Times

    def later(self, seconds, call):
        def guarded():
            if self.state != self.STATE_CLOSED:
                call()

        self.timers.append(asyncio.get_running_loop().call_later(seconds, guarded))

    def continueLater(self, seconds, call, tag=None):
        self.later(seconds, call)

    def killAfter(self, seconds):
        self.later(seconds, self.failConnection)

    def closeAfter(self, seconds):
        self.later(seconds, self.sendClose)

    def enableWirelog(self, enable):
        self.createWirelog = enable
