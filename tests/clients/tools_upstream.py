"""A provider on the loopback with Anthropic's wire: it calls its first tool twice, until it has the results."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = "Let me look."
# As the pieces come; together they are the arguments.
CALLS = [("toolu_1", ['{"city"', ': "Ulm"}']), ("toolu_2", ['{"city": "Bonn"}'])]
ARGUMENTS = [json.loads("".join(pieces)) for _, pieces in CALLS]
DONE = "Rain in both."
USAGE = {"input_tokens": 25, "output_tokens": 15}


class ToolsUpstream:
    """A running provider. `requests` holds the body of each request, in order."""

    def __init__(self):
        self.requests = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.upstream = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def settings(self):
        port = self.server.server_address[1]
        lines = ["[[provider]]", 'id = "scripted"', 'kind = "anthropic"', f'base_url = "http://127.0.0.1:{port}/v1"']
        lines += ['models = ["looker"]', "[chain]", 'order = ["scripted"]']
        return "\n".join([*lines, "[llm]", 'model = "none"', ""])

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
        last = body["messages"][-1]["content"]
        answered = isinstance(last, list) and any(block["type"] == "tool_result" for block in last)
        name = body["tools"][0]["name"]
        if body.get("stream"):
            self.stream(None if answered else name)
        else:
            calls = [{"type": "tool_use", "id": CALLS[at][0], "name": name, "input": ARGUMENTS[at]} for at in (0, 1)]
            content = [text(DONE)] if answered else [text(CONTENT), *calls]
            reason = "end_turn" if answered else "tool_use"
            self.send("application/json", json.dumps(message(content, reason, USAGE)).encode())

    def stream(self, tool):
        start = message([], None, {"input_tokens": USAGE["input_tokens"], "output_tokens": 1})
        events = [{"type": "message_start", "message": start}]
        events += block(0, text(""), [{"type": "text_delta", "text": CONTENT if tool else DONE}])
        for index, (call, pieces) in enumerate(CALLS if tool else [], 1):
            begin = {"type": "tool_use", "id": call, "name": tool, "input": {}}
            events += block(index, begin, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
        reason = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
        events.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": USAGE["output_tokens"]}})
        events.append({"type": "message_stop"})
        lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.send("text/event-stream", lines.encode())

    def send(self, kind, data):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def text(words):
    return {"type": "text", "text": words}


def message(content, reason, usage):
    head = {"id": "msg_up", "type": "message", "role": "assistant", "model": "looker"}
    return {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def block(index, begin, pieces):
    yield {"type": "content_block_start", "index": index, "content_block": begin}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": index, "delta": piece}
    yield {"type": "content_block_stop", "index": index}
