"""What a fuzzer cannot guess: names of things that are there, and bodies that mean something. Loaded by schemathesis."""

import json
import os

import schemathesis

# A key that may be shown, rotated and revoked; the calls are made with another.
KEY_ID = os.environ["MUSTER_TEST_KEY_ID"]
NAMES = {
    "/v1/models/{id}": "echo",
    "/docs/assets/{file}": "swagger-ui.css",
    "/api/v1/keys/{id}": KEY_ID,
    "/api/v1/keys/{id}/rotate": KEY_ID,
}
TURNS = [{"role": "user", "content": "Hello?"}]
CHATS = {
    "/api/chat": {"model": "echo", "message": "Hello?"},
    "/api/llm/chat": {"model": "echo", "messages": TURNS},
    "/api/q159/llm/chat": {"model": "echo", "messages": TURNS},
    "/v1/chat/completions": {"model": "echo", "messages": TURNS},
    "/v1/messages": {"model": "echo", "max_tokens": 16, "messages": TURNS},
    "/v1/responses": {"model": "echo", "input": "Hello?"},
}
BODIES = CHATS | {
    "/v1/messages/count_tokens": {"model": "echo", "messages": TURNS},
    "/v1/embeddings": {"model": "vectors", "input": ["one", "three"]},
    "/api/v1/keys": {"name": "made up", "scopes": ["chat"]},
    "/api/v1/keys/{id}/rotate": {"grace_seconds": 60},
}


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Every second made-up name gives way to one that is there."""
    known = NAMES.get(context.operation.path)
    if known is None or not path_parameters:
        return path_parameters
    ((name, made_up),) = path_parameters.items()
    return {name: known} if len(str(made_up)) % 2 == 0 else path_parameters


@schemathesis.hook
def map_body(context, body):
    """Of four made-up bodies one stays; one is made whole where it lacks sense; of two a single field is put into a good
    body, one of them streamed. So each field is tried by itself, and each good answer is seen."""
    good = BODIES.get(context.operation.path)
    if good is None or not isinstance(body, dict):
        return body
    # A bound of a few milliseconds is run into, rightly, and told as 503.
    if isinstance(body.get("deadline_ms"), (int, float)):
        body = body | {"deadline_ms": max(body["deadline_ms"], 60_000)}
    sort = len(json.dumps(body, default=str)) % 4
    if sort == 0:
        return body
    if sort == 1:
        return body | good
    names = sorted(set(body) - set(good))
    one = {name: body[name] for name in names[len(names) // 2 :][:1]}
    streamed = {"stream": True} if sort == 3 and context.operation.path in CHATS else {}
    return one | good | streamed
