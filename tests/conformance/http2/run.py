#!/usr/bin/env python3
"""Runs the HTTP/2 cases against the server, over TLS with ALPN (it offers no HTTP/2 without TLS).

  tests/conformance/http2/run.py --muster target/debug/muster [--case http2/6.9] [--verbose]

Where a program `h2spec` is on the path, it is run as well. Exit code 1 if a case fails that is not in known.py.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import known
from cases import CASES, RAW
from wire import Closed, Connection

PATH = "/api/health/live"
AT_ONCE = 4
GROUPS = {
    "http2/3": "starting HTTP/2",
    "http2/4": "frames",
    "http2/5": "streams",
    "http2/6": "frame definitions",
    "http2/7": "error codes",
    "http2/8": "HTTP messages",
    "generic": "what must be accepted",
    "hpack": "HPACK",
    "more": "beyond h2spec",
}
SETTINGS = """[server]
listen = "127.0.0.1:{port}"
[server.tls]
cert = "cert.pem"
key = "key.pem"
[store]
path = "data"
[llm]
model = "none"
[log]
level = "warn"
[limits.agent]
health = 1000000
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(muster, folder):
    if not shutil.which("openssl"):
        raise SystemExit("openssl is needed to make a certificate: apt-get install openssl")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    port = free_port()
    (folder / "config.toml").write_text(SETTINGS.format(port=port))
    with open(folder / "muster.log", "wb") as log:
        process = subprocess.Popen(
            [muster.resolve(), "serve", "--config", "config.toml"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            env={"MUSTER_BOOTSTRAP_KEY": "mst_conformtests_" + "c" * 43},
        )
    # It prints its address once it serves, and ends if it cannot.
    if process.stdout.readline().startswith(b"listening on"):
        return process, port
    process.kill()
    raise SystemExit(f"the server does not start: {(folder / 'muster.log').read_text()}")


def play(number, port):
    """`None` if the case passes, else what is wrong."""
    connection = Connection(port, PATH)
    try:
        if number not in RAW:
            connection.handshake()
        CASES[number][1](connection)
        return None
    except AssertionError as failed:
        return str(failed)
    except Closed:
        return "the server closed the connection"
    finally:
        connection.close()


def run_h2spec(port):
    """Whether the program finds no failure; true where it is not installed."""
    if not shutil.which("h2spec"):
        return True
    arguments = ["--tls", "--insecure", "--host", "127.0.0.1", "--port", str(port), "--path", PATH]
    return subprocess.run(["h2spec", *arguments]).returncode == 0


def report(found, chosen):
    rows, unexpected, listed = {}, [], []
    for number in chosen:
        group = next(name for name in GROUPS if number.startswith(name))
        row = rows.setdefault(group, [0, 0, 0])
        reason = known.FAILURES.get(number)
        if found[number] is None:
            row[0] += 1
            if reason:
                listed.append(f"{number} is in known.py, but passes here: take it out if it passes everywhere")
        elif reason:
            row[2] += 1
            listed.append(f"{number} {CASES[number][0]}: {found[number]}\n      known: {reason}")
        else:
            row[1] += 1
            unexpected.append(f"{number} {CASES[number][0]}: {found[number]}")
    print(f"\n{'HTTP/2 (the cases of h2spec 2.6.0, our own)':44}{'passed':>8}{'failed':>8}{'known':>8}")
    for group, row in rows.items():
        print(f"{group + ' ' + GROUPS[group]:44}{row[0]:8}{row[1]:8}{row[2]:8}")
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    print(f"{'all':44}{total[0]:8}{total[1]:8}{total[2]:8}\n")
    for line in [*listed, *(f"UNEXPECTED {line}" for line in unexpected)]:
        print(f"  {line}")
    return unexpected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", type=pathlib.Path, required=True)
    parser.add_argument("--case", default="", help="only cases whose number begins so")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    chosen = [number for number in CASES if number.startswith(args.case)]
    with tempfile.TemporaryDirectory() as folder:
        process, port = start(args.muster, pathlib.Path(folder))
        try:
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                found = dict(zip(chosen, pool.map(lambda number: play(number, port), chosen), strict=True))
            alive = process.poll() is None and play("http2/6.7/1", port) is None
            official = run_h2spec(port)
        finally:
            process.terminate()
            process.wait()
    unexpected = report(found, chosen)
    if not alive:
        print("  UNEXPECTED the server does not answer after the cases")
    if not official:
        print("  UNEXPECTED h2spec finds failures: see above")
    return 0 if alive and official and not unexpected else 1


if __name__ == "__main__":
    sys.exit(main())
