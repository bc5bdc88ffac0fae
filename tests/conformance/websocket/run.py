#!/usr/bin/env python3
"""Runs the cases of the Autobahn testsuite against the server's WebSocket transport, `examples/ws_echo.rs`.

  tests/conformance/websocket/run.py --echo target/debug/examples/ws_echo [--case 6.4] [--verbose]

Exit code 1 if a case fails that is not excluded.
"""

import argparse
import asyncio
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import excluded
import peer
import suite

ROOT = pathlib.Path(__file__).resolve().parents[3]
LONGEST_SECS = 500
AT_ONCE = 8
GOOD = ("OK", "NON-STRICT", "INFORMATIONAL")
CATEGORIES = {
    "1": "framing",
    "2": "pings and pongs",
    "3": "reserved bits",
    "4": "opcodes",
    "5": "fragmentation",
    "6": "UTF-8",
    "7": "close",
    "9": "limits and performance",
    "10": "automatic fragmentation",
    "12": "compression",
    "13": "compression parameters",
}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(echo, folder):
    """The echo server, once it listens."""
    port = free_port()
    process = subprocess.Popen([echo, str(port), folder], stdout=subprocess.PIPE, text=True)
    if "listening" not in process.stdout.readline():
        raise SystemExit("the echo server does not start")
    return process, port


async def play(number, case, port, found, verbose):
    began = time.monotonic()
    connection = peer.Peer(case)
    await connection.run(port, LONGEST_SECS)
    played = connection.case
    found[number] = (
        played.behavior,
        played.behaviorClose,
        f"{played.result} {played.resultClose} {connection.violation or ''} (close code {connection.remoteCloseCode})",
        time.monotonic() - began,
    )
    if verbose:
        print(number, *found[number], flush=True)


async def play_all(cases, port, verbose):
    """Those that measure limits one after another, the others, which mostly wait, together."""
    found, gate = {}, asyncio.Semaphore(AT_ONCE)

    async def gated(number, case):
        async with gate:
            await play(number, case, port, found, verbose)

    await asyncio.gather(*(gated(number, case) for number, case in cases.items() if not number.startswith("9.")))
    for number, case in cases.items():
        if number.startswith("9."):
            await play(number, case, port, found, verbose)
    return found


def passed(outcome):
    # A wrong close is a failure too, except one that the suite calls informational.
    return outcome[0] in GOOD and outcome[1] in ("OK", "INFORMATIONAL")


def report(found, reasons):
    rows, unexpected = {}, []
    for number in sorted({*found, *reasons}, key=lambda number: [int(part) for part in number.split(".")]):
        row = rows.setdefault(number.split(".")[0], [0, 0, 0, 0])
        if number in reasons:
            row[3] += 1
        elif passed(found[number]):
            row[0 if found[number][0] == "OK" else 1] += 1
        else:
            row[2] += 1
            unexpected.append(f"{number} fails: {found[number][0]}, close {found[number][1]}: {found[number][2]}")
    print(
        f"\n{'WebSocket (Autobahn ' + suite.VERSION + ')':40}{'passed':>8}{'not strict':>12}{'failed':>8}{'excluded':>10}"
    )
    for category, row in rows.items():
        print(f"{category + ' ' + CATEGORIES.get(category, ''):40}{row[0]:8}{row[1]:12}{row[2]:8}{row[3]:10}")
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    print(f"{'all':40}{total[0]:8}{total[1]:12}{total[2]:8}{total[3]:10}\n")
    loose = [
        f"{number} {found[number][0].lower()}: {found[number][2]}"
        for number in found
        if number not in reasons and passed(found[number]) and found[number][0] != "OK"
    ]
    for line in [*excluded.summary(reasons), *loose, *(f"UNEXPECTED {line}" for line in unexpected)]:
        print(f"  {line}")
    return unexpected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--echo", required=True)
    parser.add_argument("--case", help="only cases whose number begins so")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    cases = suite.load(suite.unpack(ROOT / ".tools"), peer.States)
    reasons = {number: reason for number in [*cases, *excluded.COMPRESSION] if (reason := excluded.reason(number))}
    chosen = {
        number: case
        for number, case in cases.items()
        if number not in reasons and (not args.case or f"{number}.".startswith(f"{args.case}."))
    }
    with tempfile.TemporaryDirectory() as folder:
        process, port = start(args.echo, folder)
        try:
            found = asyncio.run(play_all(chosen, port, args.verbose))
        finally:
            process.terminate()
            process.wait()
    return 1 if report(found, {} if args.case else reasons) else 0


if __name__ == "__main__":
    sys.exit(main())
