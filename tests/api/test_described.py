"""Made-up calls of every described route, good and bad: none fails the server, each answer is as it is described."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from world import World

HERE = Path(__file__).resolve().parent
# The same calls each time, and as many as fit into a few minutes.
SEED = "20260101"
EXAMPLES = os.environ.get("MUSTER_API_EXAMPLES", "20")
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
]
# The key in the headers that the description names. Each engine's input is made up a thousand times in its own tests: here a few
# calls show that its answers are as they are described.
SETTINGS = """
[generation]
max-examples = {examples}
[[operations]]
include-path-regex = "^/api/q[0-9]+(/run)?$"
generation.max-examples = 5
phases.coverage.enabled = false
[auth.openapi.key]
bearer = "{key}"
[auth.openapi.x_api_key]
api_key = "{key}"
[auth.openapi.token]
bearer = "PERSON"
[auth.openapi.device]
bearer = "DEVICE"
"""
# Routes whose success does not end by itself; each has a separate test below.
ENDLESS = {("GET", "/api/v1/realtime"), ("GET", "/api/v1/realtime/sse"), ("GET", "/api/q62/dashboard/agents")}
# Kept conversations need a key in the environment of the server; tests/medical/conversations.rs has them.
NOT_KEPT = {(method, "/api/medical/conversations/{id}") for method in ("GET", "DELETE")}
# Deciders sign what they send, and no made-up call has a signature: tests/governance has these, and its answers.
SIGNED = {("DELETE", "/api/v1/governance/deciders/{user}"), ("DELETE", "/api/v1/governance/delegations/{id}")}
SIGNED |= {("DELETE", "/api/v1/governance/approvals/{id}/decisions/mine"), ("POST", "/api/v1/governance/deciders")}
SIGNED |= {("POST", f"/api/v1/governance/{path}") for path in ("deciders/me/resume", "delegations")}
SIGNED |= {
    ("POST", f"/api/v1/governance/approvals/{{id}}/{act}") for act in ("break-glass", "decisions", "execute", "review")
}
# The routes are called in two parts beside each other: these, and the others.
VERSIONED = re.compile("^/api/v1/")
PARTS = ("include", "exclude")
# Each engine is described, and they share two routes.
ENGINE = re.compile(r"^/api/q\d+(/run)?$")


def make_key(muster):
    """Creates a key to be read, rotated and revoked; returns its identifier."""
    headers = {"authorization": f"Bearer {muster.key}", "content-type": "application/json"}
    body = json.dumps({"name": "victim", "scopes": ["chat"]}).encode()
    request = urllib.request.Request(f"{muster.origin}/api/v1/keys", data=body, headers=headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)["id"]


def get(muster, path):
    request = urllib.request.Request(f"{muster.origin}{path}", headers={"authorization": f"Bearer {muster.key}"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return answer.read().decode()


def described(muster):
    paths = json.loads(get(muster, "/openapi.json"))["paths"]
    named = {path: ENGINE.sub(lambda found: "/api/q{number}" + (found[1] or ""), path) for path in paths}
    return {(method.upper(), named[path]) for path, operations in paths.items() for method in operations}


def succeeded(muster):
    """Methods and routes that answered with success, as the server counted them."""
    sample = re.compile(r'muster_http_requests_total\{method="(\w+)",route="([^"]+)",status="2\d\d"\}')
    return {(method, path.replace(":.+}", "}")) for method, path in sample.findall(get(muster, "/metrics"))}


@pytest.mark.parametrize("part", PARTS)
def test_every_answer_is_as_described(muster, tmp_path, part):
    (tmp_path / "schemathesis.toml").write_text(SETTINGS.format(key=muster.key, examples=EXAMPLES))
    command = [str(Path(sys.executable).parent / "schemathesis"), "run", f"{muster.origin}/openapi.json"]
    command += ["--checks", ",".join(CHECKS), f"--{part}-path-regex", VERSIONED.pattern]
    command += ["--phases", "examples,coverage,fuzzing", "--mode", "all", "--seed", SEED]
    command += ["--workers", "1", "--request-timeout", "30", "--suppress-health-check", "all", "--no-color"]
    command += ["--warnings", "off", "--generation-database", "none", "--continue-on-failure"]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    hooks = {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "MUSTER_TEST_KEY_ID": make_key(muster)}
    hooks |= {"MUSTER_TEST_ORIGIN": muster.origin, "MUSTER_TEST_PASSWORD": muster.password}
    hooks["MUSTER_TEST_KEY"] = muster.key
    done = subprocess.run(command, cwd=tmp_path, env=kept | hooks, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    called = {(method, path) for method, path in described(muster) if bool(VERSIONED.search(path)) == (part == "include")}
    never = sorted(called - succeeded(muster) - ENDLESS - NOT_KEPT - SIGNED)
    assert not never, f"none of the calls made there was good enough: {never}"


def raw_get(muster, path, *headers):
    """The beginning of an answer that does not end: its head, and for events the first line."""
    world = World(muster.origin, muster.password)
    host, port = muster.origin.removeprefix("http://").split(":")
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {world.admin()}", *headers]
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        with connection.makefile("rb") as answer:
            head = []
            while line := answer.readline().strip():
                head.append(line.decode().lower())
            return head, answer.readline() + answer.readline() if "text/event-stream" in str(head) else b""


def test_events_are_streamed_as_described(muster):
    head, events = raw_get(muster, "/api/v1/realtime/sse?ch=system")
    assert head[0] == "http/1.1 200 ok" and "content-type: text/event-stream" in str(head), head
    assert b":" in events


def test_a_socket_is_opened_as_described(muster):
    wanted = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    wanted += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: muster.v1.json"]
    for path in ("/api/v1/realtime", "/api/q62/dashboard/agents"):
        head, _ = raw_get(muster, path, *wanted)
        assert head[0].startswith("http/1.1 101"), head
        # RFC 6455, section 1.3: the answer to its own sample key.
        assert "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=" in head, head
