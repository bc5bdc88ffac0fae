"""What a fuzzer cannot guess: names of things that are there, and bodies that mean something. Loaded by schemathesis."""

import json
import os
from collections import Counter

import schemathesis
from good import good_call
from world import World

ENV = {name: os.environ[f"MUSTER_TEST_{name}"] for name in ("ORIGIN", "PASSWORD", "KEY", "KEY_ID")}
WORLD = World(ENV["ORIGIN"], ENV["PASSWORD"], ENV["KEY"])
# A key that may be read, rotated and revoked; the calls are made with the other.
KEY_ID = ENV["KEY_ID"]
NAMES = {
    "/v1/models/{id}": "echo",
    "/docs/assets/{file}": "swagger-ui.css",
    "/openapi/engines/{file}": "data.json",
    "/api/v1/keys/{id}": KEY_ID,
    "/api/v1/keys/{id}/rotate": KEY_ID,
    "/api/v1/governance/compliance/{id}": "AC-5",
    "/api/q{number}": 109,
    "/api/v1/governance/audit/{seq}": 0,
    "/api/v1/governance/audit/{seq}/proof": 0,
    "/api/v1/governance/audit/log/{path}": "checkpoint",
}
CHAT_MESSAGES = [{"role": "user", "content": "Hello?"}]
CHATS = {
    "/api/chat": {"model": "echo", "message": "Hello?"},
    "/api/llm/chat": {"model": "echo", "messages": CHAT_MESSAGES},
    "/api/q159/llm/chat": {"model": "echo", "messages": CHAT_MESSAGES},
    "/v1/chat/completions": {"model": "echo", "messages": CHAT_MESSAGES},
    "/v1/messages": {"model": "echo", "max_tokens": 16, "messages": CHAT_MESSAGES},
    "/v1/responses": {"model": "echo", "input": "Hello?"},
}
# Families of models that the test's provider has none of: asking for one is answered, correctly, with 503.
FAMILIES = {"fast", "reasoning", "vision", "code"}
BODIES = CHATS | {
    "/v1/messages/count_tokens": {"model": "echo", "messages": CHAT_MESSAGES},
    "/v1/embeddings": {"model": "vectors", "input": ["one", "three"]},
    "/api/v1/keys": {"name": "made up", "scopes": ["chat"]},
    "/api/v1/keys/{id}/rotate": {"grace_seconds": 60},
}
# What the configuration puts in the place of a token, which would be too old by the time it is sent.
TOKENS = {"Bearer PERSON": WORLD.admin, "Bearer DEVICE": WORLD.unit_token}
# Drawn by the test's provider: the server has no files of its own illustrator here.
DRAWN = {"generate_image", "create_images", "generate_images"}
# Open routes whose valid calls need a user to log in.
LOGINS = {"login", "cli_login", "service_login", "refresh"}
# Routes for people that keys may call too.
KEYED = {"get_agent", "run_agent", "get_task", "task_events", "control_tasks"}
KEYED |= {f"{verb}_task" for verb in ("pause", "resume", "kill", "redirect")}
KEYED |= {"search_memory", "list_memory", "get_memory", "memory_history", "forget_memory"}
KEYED |= {"delete_memory", "delete_memory_named", "realtime_history", "realtime_presence"}
KEYED |= {"get_image", "delete_image"}
# One call in so many of each route for people or devices is a good one.
GOOD_EVERY = 6
CALLS = Counter()
# A record that is there, by operation: the last that a good call was about.
KNOWN = {}


def example_of(context):
    operation = context.operation
    known = BODIES.get(operation.path)
    return known if known is not None else WORLD.examples.get(operation.definition.raw.get("operationId"))


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Replaces every second generated name by an existing one."""
    known = NAMES.get(context.operation.path)
    if known is None or not path_parameters:
        return path_parameters
    ((name, made_up),) = path_parameters.items()
    return {name: known} if len(str(made_up)) % 2 == 0 else path_parameters


@schemathesis.hook
def map_body(context, body):
    """Of four made-up bodies one stays; one is made whole where it lacks sense; of two a single field is put into a good
    body, one of them streamed. So each field is tried by itself, and each good answer is seen."""
    good = example_of(context)
    if not isinstance(good, dict) or not isinstance(body, dict):
        return body
    sort = len(json.dumps(body, default=str)) % 4
    if sort == 0:
        return body
    if sort == 1:
        return body | good
    names = sorted(set(body) - set(good))
    one = {name: body[name] for name in names[len(names) // 2 :][:1]}
    streamed = {"stream": True} if sort == 3 and context.operation.path in CHATS else {}
    return one | good | streamed


def name_what_serves(operation, case):
    """Where this server has no model, which is answered, correctly, with 503: a call of the provider in its place."""
    if not isinstance(case.body, dict):
        return
    if operation in DRAWN and case.body.get("model") in (None, "embedded"):
        case.body = case.body | {"model": "gpt-image-2"}
    if operation == "see_picture" and case.body.get("model") is None and case.body.get("task") != "describe":
        case.body = case.body | {"model": "echo"}
    if operation == "run_q159" and "muster-core" in (case.body.get("chain") or []):
        case.body = case.body | {"chain": ["echo"]}
    if operation == "translate" and case.body.get("from") is None:
        case.body = case.body | {"from": "en"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Puts a fresh token in, bounds what would wait, and makes one call in a few a good one."""
    operation = case.operation.definition.raw["operationId"]
    if isinstance(case.body, dict) and isinstance(case.body.get("deadline_ms"), (int, float)):
        # A deadline of a few milliseconds is exceeded, correctly, and answered with 503.
        case.body = case.body | {"deadline_ms": max(case.body["deadline_ms"], 60_000)}
    if isinstance(case.body, dict) and str(case.body.get("model")).strip().lower() in FAMILIES:
        case.body = case.body | {"model": "echo"}
    name_what_serves(operation, case)
    make = TOKENS.get((case.headers or {}).get("Authorization"))
    if operation == "realtime_events":
        # A stream of events does not end by itself: it is opened elsewhere.
        case.query = {name: value for name, value in (case.query or {}).items() if name != "ch"}
    if operation in ("next_device_command", "next_device_job") and (case.query or {}).get("wait_s") != "61":
        case.query = (case.query or {}) | {"wait_s": "0"}
    if operation == "get_task" and (case.query or {}).get("wait") != "61":
        case.query = (case.query or {}) | {"wait": "0"}
    if make is None and operation not in LOGINS | KEYED:
        return
    if make is None and operation in KEYED and WORLD.key not in str(case.headers):
        # A call without a credential, or with an invalid one, stays as it is.
        return
    token = make() if make else None
    CALLS[operation] += 1
    if operation in ("change_password", "logout_all"):
        # Wrong passwords lock an account, and this ends every session: the administrator's is not used.
        token = WORLD.kept_token(operation, lambda: WORLD.stranger()["token"])
    if CALLS[operation] % GOOD_EVERY == 1:
        names = [parameter.name for parameter in case.operation.iter_parameters()]
        wanted = good_call(WORLD, operation, names)
        token = wanted["token"] or token
        case.path_parameters, case.query = wanted["path"], wanted["query"]
        case.headers = dict(wanted["headers"])
        if wanted["body"] is not None:
            case.body = wanted["body"]
            case.media_type = next(iter(case.operation.definition.raw["requestBody"]["content"]))
        KNOWN[operation] = wanted["path"]
    elif CALLS[operation] % 2 == 0 and KNOWN.get(operation):
        case.path_parameters = KNOWN[operation]
    if token is not None:
        case.headers["Authorization"] = f"Bearer {token}"
