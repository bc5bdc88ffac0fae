#!/usr/bin/env python3
"""Signed decisions about approvals over HTTP, beside a read that bears the same proof of possession; the audit log's proofs,
filters, writes and verification.

Needs a release build of `muster`; builds the bench of muster-audit. Wall-clock figures of a shared machine are upper bounds.

  benches/governance/run.py --muster target/release/muster [--decisions 120] [--entries 1000000]
"""

import argparse
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import governance_demo as demo  # noqa: E402

SETTINGS = '[limits]\nperson = "unlimited"\nunauthenticated = "unlimited"\n'


class Timed:
    """A kept connection in the name of a person. What is timed begins with the request and ends with the whole answer."""

    def __init__(self, person):
        self.person = person
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(person.server.origin).netloc, timeout=60)
        self.seconds = []

    def call(self, method, path, body=None):
        person = self.person
        headers = {"DPoP": person.proof(method, person.server.origin + path), "Authorization": f"DPoP {person.token}"}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        begun = time.perf_counter()
        self.connection.request(method, path, body=data, headers=headers)
        answer = self.connection.getresponse()
        text = answer.read()
        seconds = time.perf_counter() - begun
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text.decode()}")
        return seconds


def line(what, seconds):
    times = sorted(seconds)
    p50, p99 = (1e3 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    return f"  {what:36} p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  of {len(times)}"


# A person may write 30 times a minute: as many people as are needed open approvals and decide about those of their neighbours.
WRITES = 28


def people_of(server, count):
    """Deciders for operations; the last one, for security, ends the time in which a super_admin acts alone."""
    names = [f"person{number}@example.org" for number in range(count + 1)]
    for name in names:
        server.run("users", "--data", "data", "create", "--email", name, "--role", "super_admin", stdin=demo.PASSWORD)
    server.start()
    *people, security = (demo.Person(server, name) for name in names)
    for person in people:
        person.enrol("operations")
    security.enrol("security")
    return people


def decisions(program, count):
    """Opens that many approvals of high risk and signs a decision about each."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = demo.Server(program, folder)
        (folder / "config.toml").write_text(demo.SETTINGS + SETTINGS)
        try:
            people = people_of(server, max(2, -(-2 * count // WRITES)))
            callers = [Timed(person) for person in people]
            reads = []
            opened = {"action": "deploy.release", "risk": "high", "reason": "a benchmark", "payload": {"text": "x" * 1000}}
            for number in range(count):
                requester, decider = people[number % len(people)], callers[(number + 1) % len(people)]
                body = {**opened, "resource": f"release-{number}"}
                approval = requester.call("POST", f"{demo.GOVERNANCE}/approvals", body)["id"]
                path = f"{demo.GOVERNANCE}/approvals/{approval}"
                decision = decider.person.decision(approval, "operations")
                reads.append(decider.call("GET", path))
                decider.seconds.append(decider.call("POST", f"{path}/decisions", decision))
            print(line("a read of the approval (the floor)", reads))
            print(line("a signed decision", [second for caller in callers for second in caller.seconds]))
        finally:
            server.stop()


def timed(command):
    begun = time.monotonic()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.monotonic() - begun, done.stdout.splitlines()[0]


def log(program, profile, entries):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = ["cargo", "bench", "--quiet", "--locked", "--profile", profile, "--package", "muster-audit", "--bench", "audit"]
        subprocess.run([*command, "--", str(entries), name], cwd=ROOT, check=True)
        export, vkey = folder / "export.ndjson", (folder / "vkey").read_text().strip()
        seconds, verdict = timed([program, "audit", "verify", export, "--vkey", vkey])
        print(f"  muster audit verify      {seconds:6.1f} s  {verdict}")
        seconds, verdict = timed([sys.executable, ROOT / "scripts/verify_audit.py", export, "--vkey", vkey])
        print(f"  scripts/verify_audit.py  {seconds:6.1f} s  {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--profile", default="bench", help="cargo profile of the bench of muster-audit")
    parser.add_argument("--decisions", type=int, default=120)
    parser.add_argument("--entries", type=int, default=1_000_000)
    args = parser.parse_args()
    decisions(str(args.muster.resolve()), args.decisions)
    log(args.muster.resolve(), args.profile, args.entries)


if __name__ == "__main__":
    main()
