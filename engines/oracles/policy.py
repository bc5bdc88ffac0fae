"""Compares engines of the family platform: `python engines/oracles/policy.py` (a `platform.py` would hide the module of the standard library).

q61 with regopy (rego-cpp), on policies that are put together at random from rules of access, approval and deployment.
"""
import json

import regopy
from jsonlines import main

RULES = [
    'allow if input.user.role == "admin"',
    "allow if {\n    input.action in data.granted[input.user.role]\n    not input.resource.locked\n}",
    "allow if {\n    count({a | some a in input.approvals; a.ok}) >= data.needed\n    every a in input.approvals { a.by != input.user.name }\n}",
    "allow if {\n    some label, value in input.resource.labels\n    startswith(label, \"team\")\n    value == input.user.team\n    input.resource.size * 2 <= data.limit\n}",
]
DENIALS = [
    'deny contains msg if {\n    input.resource.size > data.limit\n    msg := sprintf("size %d is over %d", [input.resource.size, data.limit])\n}',
    'deny contains msg if {\n    some a in input.approvals\n    a.by == input.user.name\n    msg := concat(" ", ["own approval of", upper(a.by)])\n}',
    'deny contains "locked" if input.resource.locked',
]
NAMES = ["ada", "ben", "cleo", "dan"]


def policy(rng):
    def some(rows):
        return [row for row in rows if rng.random() < 0.6]

    def one(values):
        return values[int(rng.integers(len(values)))]

    text = "\n\n".join(["package main", "import rego.v1", "default allow := false", *some(RULES), *some(DENIALS),
                        "total := sum([a.weight | some a in input.approvals])",
                        "names := sort({a.by | some a in input.approvals})"])
    request = {
        "user": {"name": one(NAMES), "role": one(["admin", "editor", "guest"]), "team": one(["red", "blue"])},
        "action": one(["read", "write", "delete"]),
        "resource": {"size": int(rng.integers(1, 40)), "locked": bool(rng.random() < 0.3),
                     "labels": {one(["team", "team-old", "cost"]): one(["red", "blue"])}},
        "approvals": [{"by": one(NAMES), "ok": bool(rng.random() < 0.7), "weight": int(rng.integers(1, 9))}
                      for _ in range(int(rng.integers(0, 5)))],
    }
    data = {"granted": {"editor": ["read", "write"], "guest": ["read"]}, "needed": int(rng.integers(1, 4)),
            "limit": int(rng.integers(10, 60))}
    query = one(["data.main.allow", "data.main.total", "data.main.names"] +
                (["data.main.deny"] if "deny contains" in text else []))
    return {"policy": text, "query": query, "input": request, "data": data}


def decide(value, _):
    interpreter = regopy.Interpreter()
    interpreter.add_module("policy", value["policy"])
    interpreter.add_data(value["data"])
    interpreter.set_input(value["input"])
    text = str(interpreter.query(value["query"]))
    if text == "undefined":
        # rego-cpp says so where a default rule applies and a body looks up a key that is absent; OPA gives the default.
        return {"result": False, "allowed": False} if value["query"] == "data.main.allow" else None
    result = json.loads(text)["expressions"][0]
    return {"result": sorted(result) if isinstance(result, list) else result, "allowed": result is True}


main("platform", {61: {"package": "regopy 1.5.2",
                       "tolerance": 1e-9, "sample": policy, "expect": decide}})
