"""A provider on the loopback that speaks OpenAI's API and does what a model's name tells it to."""

import json
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = ["Hello", ", ", "wide ", "world", "!"]
ANSWER = "".join(WORDS)
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
CREATED = 1_700_000_000
# How many deltas `cut` sends before it breaks off, and `waits` before it falls silent.
CUT_AFTER = 10
WAITS_AFTER = 3


class Server(ThreadingHTTPServer):
    daemon_threads = True
    upstream = None

    def handle_error(self, request, client_address):
        """A caller that hangs up is what some tests are about; their asserts tell, not a trace in the output."""


@dataclass
class Upstream:
    """A running provider. `asked` holds the body of each chat request, in order."""

    server: Server
    asked: list = field(default_factory=list)
    # Set when the caller of `waits` closes the connection before the answer is over.
    caller_left: threading.Event = field(default_factory=threading.Event)

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
        self.json(200, {"object": "list", "data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.upstream.asked.append(body)
        model = body["model"]
        if model == "tiny":
            self.refuse(400, "context_length_exceeded", "This model's maximum context length is 8 tokens.")
        elif model == "fails":
            self.refuse(500, "server_error", "The scripted provider fails.")
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
            message = {"role": "assistant", "content": ANSWER}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self.json(200, self.shape(model, "chat.completion", [choice], usage=USAGE))

    def stream(self, body):
        model = body["model"]
        self.begin_events()
        self.event(self.shape(model, "chat.completion.chunk", [choice_of({"role": "assistant", "content": ""})]))
        for word in WORDS:
            self.delta(model, word)
        self.event(self.shape(model, "chat.completion.chunk", [choice_of({}, "stop")]))
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

    def refuse(self, status, code, message):
        self.json(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}})

    def json(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
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
        self.event(self.shape(model, "chat.completion.chunk", [choice_of({"content": text})]))

    def event(self, data):
        self.chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    @staticmethod
    def shape(model, kind, choices, **more):
        return {"id": "up-1", "object": kind, "created": CREATED, "model": model, "choices": choices, **more}


def choice_of(delta, finish_reason=None):
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}
