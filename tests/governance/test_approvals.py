"""Deciders who sign with PyNaCl over the canonical JSON of rfc8785, on a running server."""

import base64
import hashlib
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

import nacl.signing
import pytest
import rfc8785

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "openai_client"))

from server import Muster, settings  # noqa: E402

# No veto: by default a session without a key of its own requests nothing of high risk.
SETTINGS = settings(llm={"model": "none"}) + """
[auth]
argon2_memory_kib = 64
argon2_passes = 1
[governance]
veto = "permit (principal, action, resource);"
"""
PASSWORD = "correct horse battery staple"
G = "/api/v1/governance"


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def call(origin, method, path, body=None, token=None, headers=()):
    request = urllib.request.Request(origin + path, method=method, headers=dict(headers))
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class Person:
    def __init__(self, origin, email, password=PASSWORD):
        self.origin, self.signer = origin, nacl.signing.SigningKey.generate()
        status, login = call(origin, "POST", "/api/v1/auth/login", {"email": email, "password": password})
        assert status == 200, login
        self.token, self.id = login["data"]["token"], login["data"]["user"]["id"]

    def call(self, method, path, body=None, headers=()):
        return call(self.origin, method, path, body, self.token, headers)

    def make(self, name, role):
        email = f"{name}@example.org"
        status, made = self.call("POST", "/api/v1/users", {"email": email, "password": PASSWORD, "role": role})
        assert status == 201, made
        return Person(self.origin, email)

    def jwk(self):
        return {"kty": "OKP", "crv": "Ed25519", "x": b64url(bytes(self.signer.verify_key))}

    def kid(self):
        # RFC 7638: the required members in lexicographic order, without white space.
        members = {name: self.jwk()[name] for name in ("crv", "kty", "x")}
        return b64url(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())

    def sign(self, members):
        return b64url(self.signer.sign(rfc8785.dumps(members)).signature)

    def enrol(self, roles):
        server = self.call("GET", f"{G}/deciders")[1]["server"]
        members = {
            "jkt": self.kid(),
            "purpose": "muster.decider",
            "roles": roles,
            "server": server,
            "user": self.id,
        }
        return self.call("POST", f"{G}/deciders", {"roles": roles, "jwk": self.jwk(), "proof": self.sign(members)})

    def decide(self, approval_id, role, decision="approve"):
        _, approval = self.call("GET", f"{G}/approvals/{approval_id}")
        # What is signed is computed from what is shown, the hash too.
        payload = hashlib.sha256(rfc8785.dumps(approval["payload"])).hexdigest()
        assert payload == approval["payload_sha256"]
        members = {name: approval[name] for name in ("action", "resource", "risk", "payload_sha256")}
        nonce = approval["challenge"]["nonce"]
        members |= {"approval_id": approval_id, "decision": decision, "role": role, "nonce": nonce}
        body = {
            "decision": decision,
            "role": role,
            "nonce": nonce,
            "kid": self.kid(),
            "signature": self.sign(members),
        }
        return self.call("POST", f"{G}/approvals/{approval_id}/decisions", body)


@pytest.fixture
def muster(tmp_path):
    muster = Muster(tmp_path, SETTINGS, password=PASSWORD)
    yield muster
    muster.stop()


def test_signatures_of_pynacl_over_rfc8785_are_accepted_and_an_altered_one_is_not(muster):
    admin = Person(muster.origin, "admin@muster.local")
    security, operations, requester = (admin.make(name, "super_admin") for name in ("sec", "ops", "req"))
    assert security.enrol(["security"])[0] == 201
    assert operations.enrol(["operations"])[0] == 201
    # Names whose order differs between UTF-16 and code points, and numbers of several forms.
    body = {"name": "ci \U0001f600 \uffee é", "scopes": ["admin"], "budget_usd": 1e3}
    reason = [("Muster-Reason", "Gr%C3%BC%C3%9Fe")]
    status, opened = requester.call("POST", "/api/v1/keys", body, headers=reason)
    assert status == 202, opened
    approval = opened["approval"]
    assert approval["reason"] == "Grüße"
    payload = {"method": "POST", "path": "/api/v1/keys", "query": {}, "body": body}
    assert approval["payload_sha256"] == hashlib.sha256(rfc8785.dumps(payload)).hexdigest()
    assert security.decide(approval["id"], "security")[0] == 200
    forged = Person.decide
    own, operations.signer = operations.signer, nacl.signing.SigningKey.generate()
    status, error = forged(operations, approval["id"], "operations")
    assert (status, error["error_code"]) == (403, "SIGNATURE_INVALID")
    operations.signer = own
    status, approved = operations.decide(approval["id"], "operations")
    assert (status, approved["state"]) == (200, "approved"), approved
    # Every stored decision verifies outside.
    for decision, person in zip(approved["decisions"], (security, operations)):
        members = {name: approved[name] for name in ("action", "resource", "risk", "payload_sha256")}
        members |= {"approval_id": approved["id"], **{name: decision[name] for name in ("decision", "role", "nonce")}}
        signature = base64.urlsafe_b64decode(decision["signature"] + "==")
        person.signer.verify_key.verify(rfc8785.dumps(members), signature)
    use = [("Muster-Approval", approval["id"])]
    assert requester.call("POST", "/api/v1/keys", body, headers=use)[0] == 201
    status, used = requester.call("POST", "/api/v1/keys", body, headers=use)
    assert (status, used["error_code"]) == (409, "APPROVAL_USED")
