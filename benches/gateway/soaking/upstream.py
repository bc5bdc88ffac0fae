"""A provider with OpenAI's API whose behaviour is determined by the name of the model.

`fail-<status>`, `cut-<n>` (breaks off after n deltas), `hang`, `slow-<ms>`; any other name is answered, with usage that
differs from answer to answer. `GET /stats` returns what is open and busy; `POST /away` refuses connections for a while,
as a server that is restarted does.

  python -m soaking.upstream --port 9100 --gap-ms 2 --seed 1
"""

import argparse
import asyncio
import contextlib
import json
import random

CREATED = 1_760_000_000
MOST_PROMPT, MOST_COMPLETION = 400, 60
ARGUMENTS = ['{"ci', 'ty": ', '"Ulm"}']


class Upstream:
    def __init__(self, port, gap, seed):
        self.port, self.gap, self.random = port, gap, random.Random(seed)
        self.server, self.open, self.busy, self.requests = None, set(), 0, 0
        self.away = False

    async def listen(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, backlog=1024)

    async def leave(self, seconds):
        """Refuses connections and closes idle ones; answers in progress continue."""
        self.away = True
        self.server.close()
        for writer in [writer for writer in self.open if not writer.busy]:
            writer.close()
        await asyncio.sleep(seconds)
        self.away = False
        await self.listen()

    async def serve(self, reader, writer):
        writer.busy = False
        self.open.add(writer)
        try:
            while not self.away:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.busy = True
                self.busy += 1
                try:
                    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                                   if line.startswith(b"content-length:")), 0)
                    if not await self.answer(head.split()[:2], await reader.readexactly(length), reader, writer):
                        return
                finally:
                    self.busy -= 1
                    writer.busy = False
        # The caller left, or there is no further request.
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    async def answer(self, line, data, reader, writer):
        """Whether the connection may be used again."""
        method, path = line
        if method == b"GET":
            # The connection of this request is counted too.
            stats = {"busy": self.busy - 1, "open": len(self.open) - 1, "asked": self.requests}
            return await self.json(writer, 200, stats if path == b"/stats" else {"object": "list", "data": []})
        if path == b"/away":
            self.task = asyncio.get_running_loop().create_task(self.leave(json.loads(data)["seconds"]))
            return await self.json(writer, 200, {})
        self.requests += 1
        body = json.loads(data)
        kind, _, figure = body["model"].partition("-")
        if kind == "fail":
            error = {"message": "a scripted failure", "type": "server_error", "param": None, "code": "scripted"}
            more = "retry-after: 1\r\n" if figure == "429" else ""
            return await self.json(writer, int(figure), {"error": error}, more)
        if kind == "hang":
            # Until the caller leaves.
            return await reader.read(1) != b""
        if kind == "slow":
            await asyncio.sleep(int(figure) / 1000)
        usage = self.usage()
        if not body.get("stream"):
            return await self.json(writer, 200, whole(body, usage))
        return await self.stream(body, usage, int(figure) if kind == "cut" else None, writer)

    def usage(self):
        prompt, completion = self.random.randint(5, MOST_PROMPT), self.random.randint(5, MOST_COMPLETION)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    async def json(self, writer, status, body, more=""):
        data = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}content-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()
        return True

    async def stream(self, body, usage, cut, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for count, chunk in enumerate(chunks(body, usage)):
            # The first chunk has no content yet.
            if cut is not None and count > cut:
                writer.transport.abort()
                return False
            event(writer, json.dumps(chunk))
            await writer.drain()
            await asyncio.sleep(self.gap)
        event(writer, "[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def event(writer, data):
    data = f"data: {data}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def whole(body, usage):
    message, finish = {"role": "assistant", "content": "lorem " * usage["completion_tokens"]}, "stop"
    if body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": "".join(ARGUMENTS)}
        calls = [{"id": "call_1", "type": "function", "function": function}]
        message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "up-1", "object": "chat.completion", "created": CREATED, "model": body["model"], "choices": [choice],
            "usage": usage}


def chunks(body, usage):
    """A stream's chunks, the last with the usage."""
    deltas, finish = [{"role": "assistant", "content": ""}], "stop"
    if body.get("tools"):
        finish, name = "tool_calls", body["tools"][0]["function"]["name"]
        begin = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": piece}} for piece in ARGUMENTS]
        deltas += [{"tool_calls": [call]} for call in (begin, *pieces)]
    else:
        deltas += [{"content": "lorem "}] * usage["completion_tokens"]
    head = {"id": "up-1", "object": "chat.completion.chunk", "created": CREATED, "model": body["model"]}
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": None}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": usage}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--gap-ms", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    await Upstream(args.port, args.gap_ms / 1000, args.seed).listen()
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
