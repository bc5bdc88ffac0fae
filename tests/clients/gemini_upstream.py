"""A provider on the loopback with Gemini's wire: it calls its first tool twice, until it has the results."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools_upstream import ARGUMENTS, DONE

USAGE = {"promptTokenCount": 25, "candidatesTokenCount": 15, "totalTokenCount": 40}


class GeminiUpstream:
    """A running provider. `requests` holds the body of each request, in order."""

    def __init__(self):
        self.requests = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.upstream = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def provider(self):
        port = self.server.server_address[1]
        lines = ["[[provider]]", 'id = "gemini"', 'kind = "gemini"', f'base_url = "http://127.0.0.1:{port}/v1beta"']
        return "\n".join([*lines, 'models = ["gemini-looker"]', ""])

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.upstream.requests.append(body)
        answered = any("functionResponse" in part for part in body["contents"][-1]["parts"])
        calls = body.get("tools") and not answered
        name = calls and body["tools"][0]["functionDeclarations"][0]["name"]
        parts = [{"functionCall": {"name": name, "args": args}} for args in ARGUMENTS] if calls else [{"text": DONE}]
        if "streamGenerateContent" in self.path:
            pieces = [chunk([part]) for part in parts]
            pieces[-1]["candidates"][0]["finishReason"] = "STOP"
            pieces[-1]["usageMetadata"] = USAGE
            self.send("text/event-stream", "".join(f"data: {json.dumps(piece)}\r\n\r\n" for piece in pieces).encode())
        else:
            whole = chunk(parts)
            whole["candidates"][0]["finishReason"] = "STOP"
            self.send("application/json", json.dumps({**whole, "usageMetadata": USAGE}).encode())

    def send(self, kind, data):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def chunk(parts):
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}], "modelVersion": "gemini-looker"}
