"""A provider on the loopback with OpenAI's API whose behaviour is determined by the name of the model."""

import base64
import json
import secrets
import socket
import struct
import threading
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = ["Hello", ", ", "wide ", "world", "!"]
ANSWER = "".join(WORDS)
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
CREATED = 1_700_000_000
# How many deltas `cut` sends before it breaks off, and `waits` before it falls silent.
CUT_AFTER = 10
WAITS_AFTER = 3
# What `tools` calls, as the pieces of the arguments come; both at once, until it has their results.
CALLS = [("call_1", "weather", ['{"city"', ': "Ulm"}']), ("call_2", "weather", ['{"city": ', '"Bonn"}'])]
ARGUMENTS = ["".join(pieces) for *_, pieces in CALLS]
DONE = "Rain in both."
# What `writer` answers: the pieces of a JSON object.
JSON_WORDS = ['{"city": ', '"Ulm", ', '"degrees": 7}']
# The vector of a text or of its tokens: its own length first, then these. All are exact in 32 bits.
VECTOR_TAIL = [0.5, -0.25, 0.125]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    upstream = None

    def handle_error(self, request, client_address):
        """Some tests close connections; the traceback of that is not printed."""


@dataclass
class Upstream:
    """A running provider. `requests` holds the body of each request, in order, `paths` where each was sent."""

    server: Server
    requests: list = field(default_factory=list)
    paths: list = field(default_factory=list)
    # Set when the caller of `waits` closes the connection before the end of the answer.
    caller_left: threading.Event = field(default_factory=threading.Event)
    # Whether every connection is closed without an answer.
    down: bool = False

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @classmethod
    def start(cls):
        upstream = cls(Server(("127.0.0.1", 0), Handler))
        upstream.server.upstream = upstream
        threading.Thread(target=upstream.server.serve_forever, daemon=True).start()
        return upstream

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/picture.png":
            self.answer(200, "image/png", png(3, 2))
        else:
            self.json(200, {"object": "list", "data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.server.upstream.down:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.id = f"chatcmpl-{secrets.token_hex(12)}"
        self.server.upstream.requests.append(body)
        self.server.upstream.paths.append(self.path)
        model = body["model"]
        if self.path.endswith("/embeddings"):
            self.json(200, embeddings_of(body))
            return
        if self.path.endswith("/images/generations"):
            if "forbidden" in body["prompt"]:
                self.refuse(400, "moderation_blocked", "The scripted provider refuses this.")
            else:
                self.json(200, images_of(body))
            return
        if model == "tiny":
            self.refuse(400, "context_length_exceeded", "This model's maximum context length is 8 tokens.")
        elif model == "fails":
            self.refuse(500, "server_error", "The scripted provider fails.")
        elif model == "busy-once" and len(self.server.upstream.requests) == 1:
            self.refuse(429, "rate_limit_exceeded", "The scripted provider is busy.", {"retry-after": "1"})
        elif model == "cut":
            self.begin_events()
            self.numbers(model, CUT_AFTER)
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif model == "waits":
            self.begin_events()
            self.numbers(model, WAITS_AFTER)
            self.wait_for_the_caller_to_leave()
        elif body.get("stream", False):
            self.stream(body)
        else:
            message, reason = answer_to(body)
            choices = [{"index": at, "message": message, "finish_reason": reason} for at in range(count_of(body))]
            self.json(200, self.shape(model, "chat.completion", choices, usage=USAGE))

    def stream(self, body):
        model, count = body["model"], count_of(body)
        self.begin_events()
        for index in range(count):
            self.deltas(model, [choice_of({"role": "assistant", "content": ""}, index=index)])
        if calls_tools(body):
            for at, (name, function, pieces) in enumerate(CALLS):
                begin = {"index": at, "id": name, "type": "function", "function": {"name": function, "arguments": ""}}
                self.deltas(model, [choice_of({"tool_calls": [begin]})])
                for piece in pieces:
                    more = {"index": at, "function": {"arguments": piece}}
                    self.deltas(model, [choice_of({"tool_calls": [more]})])
        else:
            # Word by word, in turn: several answers come interleaved.
            for word in words_of(body):
                for index in range(count):
                    self.deltas(model, [choice_of({"content": word}, index=index)])
        for index in range(count):
            self.deltas(model, [choice_of({}, "tool_calls" if calls_tools(body) else "stop", index)])
        if (body.get("stream_options") or {}).get("include_usage"):
            self.event(self.shape(model, "chat.completion.chunk", [], usage=USAGE))
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def wait_for_the_caller_to_leave(self):
        self.close_connection = True
        self.connection.settimeout(30)
        try:
            left = self.connection.recv(1) == b""
        except ConnectionError:
            left = True
        except TimeoutError:
            left = False
        if left:
            self.server.upstream.caller_left.set()

    def refuse(self, status, code, message, headers=None):
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        self.json(status, {"error": error}, headers)

    def json(self, status, body, headers=None):
        self.answer(status, "application/json", json.dumps(body).encode(), headers)

    def answer(self, status, kind, data, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_events(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def numbers(self, model, count):
        for number in range(count):
            self.delta(model, f"{number} ")

    def delta(self, model, text):
        self.deltas(model, [choice_of({"content": text})])

    def deltas(self, model, choices):
        self.event(self.shape(model, "chat.completion.chunk", choices))

    def event(self, data):
        self.chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def shape(self, model, kind, choices, **more):
        return {"id": self.id, "object": kind, "created": CREATED, "model": model, "choices": choices, **more}


def choice_of(delta, finish_reason=None, index=0):
    return {"index": index, "delta": delta, "finish_reason": finish_reason}


def count_of(body):
    """How many answers are requested; `2.0` is an integer too."""
    return int(body.get("n") or 1)


def calls_tools(body):
    return body["model"] == "tools" and body["messages"][-1]["role"] != "tool"


def words_of(body):
    if body["model"] == "tools":
        return [DONE]
    format = body.get("response_format") or {}
    if format.get("type") == "json_schema" and format["json_schema"]["name"] in SCHEMAS:
        return [json.dumps(SCHEMAS[format["json_schema"]["name"]](body))]
    return JSON_WORDS if body["model"] == "writer" else WORDS


RECTANGLE = {"x": 0, "y": 0, "width": 0.5, "height": 1}
# What the schemas of the server's own calls are answered with, by their names.
SCHEMAS = {
    # Each text translated by itself.
    "translations": lambda body: {"translations": json.loads(body["messages"][-1]["content"])["texts"]},
    "describe": lambda body: {"description": "A grey picture."},
    "detect": lambda body: {"objects": [{"label": "cat", "score": 0.9, "box": RECTANGLE}]},
    "ocr": lambda body: {"lines": [{"text": "EXIT", "box": RECTANGLE}]},
    "moderate": lambda body: {"scores": scores_of(body)},
}


def scores_of(body):
    names = body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["properties"]
    return {name: 0.1 for name in names}


def answer_to(body):
    """A whole answer's message, and why it ended."""
    if not calls_tools(body):
        return {"role": "assistant", "content": "".join(words_of(body))}, "stop"
    calls = [
        {"id": name, "type": "function", "function": {"name": function, "arguments": "".join(pieces)}}
        for name, function, pieces in CALLS
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"


def inputs_of(body):
    """A text, texts, the tokens of one text, or of several."""
    inputs = body["input"]
    return [inputs] if isinstance(inputs, str) or isinstance(inputs[0], int) else inputs


def vector_of(one):
    return [float(len(one)), *VECTOR_TAIL]


def embeddings_of(body):
    vectors = [vector_of(one) for one in inputs_of(body)]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() for vector in vectors]
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    usage = {"prompt_tokens": USAGE["prompt_tokens"], "total_tokens": USAGE["prompt_tokens"]}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height):
    """A grey picture."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def images_of(body):
    width, height = (int(side) for side in body.get("size", "1024x1024").split("x"))
    content = base64.b64encode(png(width, height)).decode()
    data = [{"b64_json": content, "revised_prompt": f"picture {at}"} for at in range(body["n"])]
    usage = {"input_tokens": 7, "output_tokens": 100 * body["n"], "total_tokens": 7 + 100 * body["n"]}
    details = {"image_tokens": 0, "text_tokens": 7}
    return {"created": CREATED, "data": data, "usage": {**usage, "input_tokens_details": details}}
