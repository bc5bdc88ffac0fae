#!/usr/bin/env python3
"""Shows the governance of a server of its own: a rollout to 150 simulated devices waits until two people have signed it.

Refused are a signature over an altered payload, a replayed signature, the vote of who requested the rollout, and an older
copy of the store that is put back. The audit log is exported and verified offline; a flipped byte is named by its entry.

Needs the program `muster` and the package PyNaCl. Everything happens in a temporary folder.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import nacl.signing

EXAMPLES = """examples:
  governance_demo.py
  governance_demo.py --muster target/release/muster --devices 500
  governance_demo.py --keep /tmp/demo
"""
PASSWORD = "a long sentence is best"
# Hashing of passwords as cheap as it is permitted, no embedded model: neither is part of the demonstration.
SETTINGS = '[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n[llm]\nmodel = "none"\n[governance]\nname = "demo.example.org"\n'
PROFILE = "heartbeat_s = 1\ntelemetry_s = 0\ninstall_ms = 50\nreboot_ms = 50\ncommands_by_feed = 0.0\n"
GOVERNANCE = "/api/v1/governance"
WITHIN_S = 300


class Refused(Exception):
    """A response other than 2xx, with its code."""

    def __init__(self, status, body):
        code = body.get("error_code") or (body.get("error") or {}).get("code")
        super().__init__(f"{status} {code}: {body}")
        self.status, self.code = status, code


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical(value):
    """RFC 8785 of what is signed here: objects and lists of ASCII texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Server:
    """A server in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        (folder / "config.toml").write_text(SETTINGS)
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        self.environment = {**kept, "HOME": str(folder)}
        self.process = self.origin = None

    def run(self, *arguments, stdin="", check=True):
        """Runs a command of the program in the folder."""
        command = [self.program, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, input=stdin, capture_output=True, text=True)
        if check and done.returncode != 0:
            sys.exit(f"muster {' '.join(command[1:])}: {done.stdout}{done.stderr}")
        return done

    def start(self):
        command = [self.program, "serve", "--listen", "127.0.0.1:0", "--data", "data"]
        log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            sys.exit(f"the server did not start: {(self.folder / 'server.log').read_text()[-2000:]}")
        self.origin = line.removeprefix("listening on ").strip()

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
            self.process = None


class Person:
    """Somebody who logged in with a session bound to a key (RFC 9449), which also signs decisions."""

    def __init__(self, server, email):
        self.server, self.email, self.key = server, email, nacl.signing.SigningKey.generate()
        self.jwk = {"crv": "Ed25519", "kty": "OKP", "x": b64url(self.key.verify_key.encode())}
        self.jkt = b64url(hashlib.sha256(canonical(self.jwk)).digest())
        self.token = None
        login = self.call("POST", "/api/v1/auth/cli/login", {"email": email, "password": PASSWORD})["data"]
        self.token = login["token"]
        self.id = self.call("GET", "/api/v1/auth/me")["data"]["id"]

    def sign(self, value):
        return b64url(self.key.sign(canonical(value)).signature)

    def proof(self, method, url):
        """A proof of possession for one request."""
        claims = {"htm": method, "htu": url, "iat": int(time.time()), "jti": secrets.token_urlsafe(16)}
        if self.token:
            claims["ath"] = b64url(hashlib.sha256(self.token.encode()).digest())
        head = {"typ": "dpop+jwt", "alg": "EdDSA", "jwk": self.jwk}
        text = ".".join(b64url(json.dumps(part).encode()) for part in (head, claims))
        return f"{text}.{b64url(self.key.sign(text.encode()).signature)}"

    def call(self, method, path, body=None, headers=(), raw=None):
        url = self.server.origin + path
        sent = {"DPoP": self.proof(method, url.partition("?")[0]), **dict(headers)}
        if self.token:
            sent["Authorization"] = f"DPoP {self.token}"
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json" if raw is None else "application/octet-stream"
        request = urllib.request.Request(url, data=data, headers=sent, method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, json.loads(error.read() or b"{}")) from None
        return text if not text.startswith("{") or "\n{" in text else json.loads(text)

    def enrol(self, *roles):
        """Becomes a decider, by a proof that the key is held."""
        server = self.call("GET", f"{GOVERNANCE}/deciders")["server"]
        claim = {"jkt": self.jkt, "purpose": "muster.decider", "roles": sorted(roles), "server": server, "user": self.id}
        self.call("POST", f"{GOVERNANCE}/deciders", {"roles": list(roles), "jwk": self.jwk, "proof": self.sign(claim)})

    def decision(self, approval, role, **altered):
        """A signed decision about an approval as it is now."""
        seen = self.call("GET", f"{GOVERNANCE}/approvals/{approval}")
        if "challenge" not in seen:
            return {"decision": "approve", "role": role, "nonce": "none", "kid": self.jkt, "signature": self.sign({})}
        signed = {name: seen[name] for name in ("action", "resource", "risk", "payload_sha256")}
        signed |= {"approval_id": approval, "decision": "approve", "role": role, "nonce": seen["challenge"]["nonce"]} | altered
        return {"decision": "approve", "role": role, "nonce": signed["nonce"], "kid": self.jkt, "signature": self.sign(signed)}

    def decide(self, approval, decision):
        return self.call("POST", f"{GOVERNANCE}/approvals/{approval}/decisions", decision)


def refused(step, act):
    """Runs what must be refused; prints how it was."""
    try:
        act()
    except Refused as error:
        print(f"refused   {step}: {error.status} {error.code}")
        return
    sys.exit(f"{step} was not refused")


def wait_for(what, look):
    deadline = time.monotonic() + WITHIN_S
    while not (found := look()):
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {WITHIN_S} s")
        time.sleep(0.2)
    return found


def people_of(server):
    """People are made on the stopped server, so that none of them made the account of another."""
    for name, role in (("ann", "super_admin"), ("ben", "super_admin"), ("cara", "super_admin"), ("dan", "viewer")):
        grants = ("--grant", "devices:write") if name == "dan" else ()
        arguments = ("--email", f"{name}@example.org", "--role", role, *grants)
        server.run("users", "--data", "data", "create", *arguments, stdin=PASSWORD)
    server.start()
    ann, ben, cara = (Person(server, f"{name}@example.org") for name in ("ann", "ben", "cara"))
    # Until each role has a decider, a super_admin does guarded things alone: here, to enrol.
    cara.enrol("operations")
    ben.enrol("operations")
    ann.enrol("security")
    deciders = ann.call("GET", f"{GOVERNANCE}/deciders")
    enrolled = "; ".join(f"{len(one['roles'])} role" for one in deciders["deciders"])
    print(f"deciders  ann for security, ben and cara for operations: constituted {json.dumps(deciders['constituted'])}, {enrolled}")
    return ann, ben, cara


def fleet_of(server, cara, count):
    """Simulated devices register and come online."""
    (server.folder / "quick.toml").write_text(PROFILE)
    (server.folder / "token").write_text(login_unbound(server))
    command = [server.program, "simulate", "devices", "--server", server.origin, "--count", str(count), "--profile", "quick.toml"]
    command += ["--register", "--state", "fleet.json", "--token-file", "token", "--json"]
    log = open(server.folder / "fleet.log", "wb")
    fleet = subprocess.Popen(command, cwd=server.folder, env=server.environment, stdout=log, stderr=log)
    wait_for("the devices", lambda: online(cara) >= count)
    print(f"devices   {count} are online")
    return fleet


def login_unbound(server):
    """The token of dan, who may register devices."""
    body = json.dumps({"email": "dan@example.org", "password": PASSWORD}).encode()
    request = urllib.request.Request(f"{server.origin}/api/v1/auth/login", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)["data"]["token"]


def devices(person):
    found, cursor = [], ""
    while True:
        page = person.call("GET", f"/api/v1/devices?limit=200{cursor}")["data"]
        found += page["devices"]
        if not page.get("next_cursor"):
            return found
        cursor = f"&cursor={urllib.parse.quote(page['next_cursor'])}"


def online(person):
    return sum(device["status"] == "online" for device in devices(person))


def image_of(server, ann, ben, cara):
    """A signed image. The key that signs it becomes a trust anchor by the decision of two people."""
    image = b"the next firmware of the simulated devices"
    (server.folder / "siren.img").write_bytes(image)
    keygen = server.run("firmware", "keygen", "--key", "release.jwk", "--name", "release")
    path, body = "/api/v1/firmware/keys", json.loads(keygen.stdout)
    refused("a trust anchor without an approval", lambda: cara.call("POST", path, body))
    waits = cara.call("POST", path, body, {"Muster-Reason": "the%20key%20of%20this%20demonstration"})
    approval = (waits.get("data") or waits)["approval"]["id"]
    ann.decide(approval, ann.decision(approval, "security"))
    ben.decide(approval, ben.decision(approval, "operations"))
    cara.call("POST", path, body, {"Muster-Approval": approval})
    print("trusted   the key that signs firmware, by the decision of ann and ben")
    arguments = ("--name", "siren", "--version", "1.1.0", "--sequence", 2, "--vendor", "muster", "--hw-class", "sim-1")
    signed = json.loads(server.run("firmware", "sign", "siren.img", "--key", "release.jwk", *arguments).stdout)
    artifact = cara.call("POST", "/api/v1/firmware/artifacts", signed["artifact"])["data"]["id"]
    cara.call("PUT", f"/api/v1/firmware/artifacts/{artifact}/content", raw=image)
    cara.call("POST", f"/api/v1/firmware/artifacts/{artifact}/verify", {"manifest_jws": signed["manifest_jws"]})
    return artifact


def roll_out(server, ann, ben, cara, count):
    artifact = image_of(server, ann, ben, cara)
    job = {"artifact_id": artifact, "target": {"group": "simulated"}, "policy": {"groups": [{"pct": 10, "soak_s": 0}, {"pct": 100}]}}
    job = cara.call("POST", "/api/v1/firmware/jobs", job)["data"]
    approval = job["approval_id"]
    record = ann.call("GET", f"{GOVERNANCE}/approvals/{approval}")
    print(f"waits     {job['id']} for {approval}: {record['action']}, risk {record['risk']}, needs {', '.join(record['quorum']['roles'])}")

    refused("cara, who requested it, approves", lambda: cara.decide(approval, cara.decision(approval, "operations")))
    altered = ann.decision(approval, "security", payload_sha256=hashlib.sha256(b"another payload").hexdigest())
    refused("a signature over another payload", lambda: ann.decide(approval, altered))
    first = ann.decision(approval, "security")
    ann.decide(approval, first)
    ann.call("DELETE", f"{GOVERNANCE}/approvals/{approval}/decisions/mine")
    refused("a signature of a decision that was withdrawn", lambda: ann.decide(approval, first))
    refused("ann's signature, sent by ben", lambda: ben.decide(approval, {**ann.decision(approval, "security"), "role": "operations"}))
    ann.decide(approval, ann.decision(approval, "security"))
    assert all(device["firmware"]["current"] != "1.1.0" for device in devices(cara))
    ben.decide(approval, ben.decision(approval, "operations"))
    record = ann.call("GET", f"{GOVERNANCE}/approvals/{approval}")
    print(f"approved  by ann for security and ben for operations: {record['state']}")
    path = f"/api/v1/firmware/jobs/{job['id']}"
    done = wait_for("the rollout", lambda: next((one for one in [cara.call("GET", path)["data"]] if one["state"] == "succeeded"), None))
    updated = sum((device["firmware"].get("current") or {}).get("version") == "1.1.0" for device in devices(cara))
    print(f"rolled out {updated} of {count} devices run 1.1.0; the job {done['state']}")


def put_back(server, ann, older):
    """The store of before the rollout is put back. What was signed since is beside it."""
    signed = wait_for("a checkpoint", lambda: ann.call("GET", f"{GOVERNANCE}/audit/checkpoint"))
    server.stop()
    live = server.folder / "data/live"
    live.rename(server.folder / "newer")
    shutil.copytree(older, live)
    command = [server.program, "serve", "--listen", "127.0.0.1:0", "--data", "data"]
    done = subprocess.run(command, cwd=server.folder, env=server.environment, capture_output=True, text=True, timeout=WITHIN_S)
    assert done.returncode == 1, done
    named = re.search(r"rolled back: \S+ size (\d+) ", done.stderr)
    assert named and int(named[1]) >= signed["size"], done.stderr
    print("refused   the older store, put back: the server does not start, because more entries were signed than it has")
    shutil.rmtree(live)
    (server.folder / "newer").rename(live)


def verify(server, export, vkey):
    """The verdicts of the program and of a script that shares no code with it."""
    script = Path(__file__).with_name("verify_audit.py")
    one = server.run("audit", "verify", export, "--vkey", vkey, check=False).stdout.strip()
    other = subprocess.run([sys.executable, script, export, "--vkey", vkey], capture_output=True, text=True).stdout.strip()
    return one.splitlines()[0], other.splitlines()[0]


def audit(server, ann):
    """An export is verified offline, as it is and with one flipped byte."""
    vkey = ann.call("GET", f"{GOVERNANCE}/audit/keys")["keys"][0]
    text = ann.call("GET", f"{GOVERNANCE}/audit/export")
    export = server.folder / "export.ndjson"
    export.write_text(text)
    for verdict in verify(server, export, vkey):
        assert verdict.startswith("ok: "), verdict
    entries = text.count("\n") - 1
    print(f"exported  {entries} entries, verified offline by two programs: ok")
    lines, number = text.encode().splitlines(keepends=True), entries // 2
    flipped = bytearray(lines[number])
    flipped[len(flipped) // 2] ^= 1
    export.write_bytes(b"".join([*lines[:number], flipped, *lines[number + 1 :]]))
    verdicts = verify(server, export, vkey)
    assert all(verdict.startswith(f"altered at {number}: ") for verdict in verdicts), (number, verdicts)
    print(f"refused   the export with a byte of entry {number} flipped: altered at {number}, say both")


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", default=shutil.which("muster") or "target/debug/muster", help="the program")
    parser.add_argument("--devices", type=int, default=150, help="number of simulated devices, more than 100 [150]")
    parser.add_argument("--keep", type=Path, help="folder to work in, which is kept")
    arguments = parser.parse_args()
    if arguments.devices <= 100:
        parser.error("--devices: a rollout to 100 devices or fewer needs no approval of this kind")
    with contextlib.ExitStack() as stack:
        folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        server = Server(str(Path(arguments.muster).resolve()), folder.resolve())
        stack.callback(server.stop)
        ann, ben, cara = people_of(server)
        older = folder / "older"
        server.stop()
        shutil.copytree(server.folder / "data/live", older)
        server.start()
        fleet = fleet_of(server, cara, arguments.devices)
        stack.callback(fleet.wait)
        stack.callback(fleet.terminate)
        roll_out(server, ann, ben, cara, arguments.devices)
        audit(server, ann)
        put_back(server, ann, older)
    print("done")


if __name__ == "__main__":
    main()
