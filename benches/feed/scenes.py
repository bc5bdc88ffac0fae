"""What is measured of a live socket besides throughput: stalled readers, revocation, resume, logins."""

import concurrent.futures
import contextlib
import os
import pathlib
import statistics
import threading
import time

import wire


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


class Watch(threading.Thread):
    """Looks at a server every 50 ms: its largest memory, and when its sockets were cut off."""

    def __init__(self, pid, control):
        super().__init__(daemon=True)
        self.pid, self.control, self.over = pid, control, threading.Event()
        self.before, self.peak, self.evicted, self.started = resident_kib(pid), 0, [], time.monotonic()

    def run(self):
        known = self.control.query("stats")["evicted"]
        while not self.over.wait(0.05):
            self.peak = max(self.peak, resident_kib(self.pid))
            now = self.control.query("stats")["evicted"]
            self.evicted += [time.monotonic() - self.started] * (now - known)
            known = now

    def end(self):
        self.over.set()
        self.join()


def stalled(load, side, token, secs, readers=10, stall=2):
    """10 subscribers at 4,000 messages of 1 KiB a second, once all reading, once with two that never read."""
    found = {}
    for count in (0, stall):
        watch = Watch(side.pid, wire.Control(side.control))
        watch.start()
        got = load(side, token, n=readers, stall=count, rate=4000, secs=secs, window=0, size=1024)
        watch.end()
        found[count] = got | {"growth_kib": watch.peak - watch.before, "evicted_s": watch.evicted}
    reading, behind = found[0], found[stall]
    return {
        "kib_a_stalled": max(0, behind["growth_kib"] - reading["growth_kib"]) / stall,
        "growth_reading_kib": reading["growth_kib"], "growth_stalled_kib": behind["growth_kib"],
        "evicted_s": max(behind["evicted_s"]) if len(behind["evicted_s"]) >= stall else None,
        "evicted": len(behind["evicted_s"]), "stalled": stall,
        "p99_ms_reading": reading["p99_ms"], "p99_ms_beside_stalled": behind["p99_ms"],
    }


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def flood(live, over):
    frames = wire.masked("{}") * 3
    while not over.is_set():
        for opened in live:
            with contextlib.suppress(OSError):
                opened.socket.sendall(frames)
        time.sleep(0.02)


def revoked(side, token, times):
    """From the request that ends a session to the close of its socket, with sockets that send without end."""
    http = wire.connect(side)
    others = [wire.Socket(side, token) for _ in range(10)]
    for other in others:
        other.send({"id": 1, "subscribe": {"ch": "incidents", "snapshot": False}})
    live, over = list(others), threading.Event()
    drains = [threading.Thread(target=other.closed, daemon=True) for other in others]
    flooding = threading.Thread(target=flood, args=(live, over), daemon=True)
    for thread in [*drains, flooding]:
        thread.start()
    waits, codes = [], []
    for _ in range(times):
        mine = wire.login(http)
        victim = wire.Socket(side, mine)
        victim.send({"id": 1, "subscribe": {"ch": "incidents", "snapshot": False}})
        victim.answer(1)
        live.append(victim)
        closings = []

        def wait(victim=victim, closings=closings):
            closings.append((victim.closed(), time.perf_counter()))

        waiting = threading.Thread(target=wait)
        waiting.start()
        begun = time.perf_counter()
        wire.request(http, "DELETE", f"/api/v1/auth/sessions/{wire.session_of(mine)}", token=token)
        waiting.join(30)
        live.remove(victim)
        victim.end()
        codes.append(closings[0][0])
        waits.append((closings[0][1] - begun) * 1e3)
    over.set()
    flooding.join()
    for other in others:
        other.end()
    return {"p50_ms": quantile(waits, 0.5), "p99_ms": quantile(waits, 0.99), "times": times,
            "codes": sorted(set(codes))}


def resumed(side, token, times=10, missed=500):
    """From `subscribe` with a position 500 events back to the last of them."""
    control, waits = wire.Control(side.control), []
    first = wire.Socket(side, token)
    first.send({"id": 1, "subscribe": {"ch": "incidents", "snapshot": False}})
    at = first.answer(1)["ok"]
    for _ in range(times):
        control.publish(missed, 200)
        for _ in range(missed):
            while not first.frame()[1].startswith(b'{"ch":"incidents","off"'):
                pass
        second = wire.Socket(side, token)
        begun = time.perf_counter()
        since = {"epoch": at["epoch"], "offset": at["offset"]}
        second.send({"id": 1, "subscribe": {"ch": "incidents", "since": since}})
        answer = second.answer(1)
        if not answer["ok"]["recovered"] or answer["ok"]["offset"] != at["offset"] + missed:
            raise RuntimeError(f"not resumed: {answer}")
        got = 0
        while got < missed:
            got += second.frame()[1].startswith(b'{"ch":"incidents","off"')
        waits.append((time.perf_counter() - begun) * 1e3)
        at["offset"] += missed
        second.end()
    first.end()
    return {"median_ms": statistics.median(waits), "worst_ms": max(waits), "missed": missed, "times": times}


def logins(side, secs, clients=4):
    """Logins a second of some clients at once, and what the hashes alone would allow on the cores there are."""
    control = wire.Control(side.control)
    hash_ms = statistics.median(control.query("hash") for _ in range(9))
    until, done = time.monotonic() + secs, []

    def log_in():
        http, count = wire.connect(side), 0
        while time.monotonic() < until:
            wire.login(http)
            count += 1
        done.append(count)

    threads = [threading.Thread(target=log_in) for _ in range(clients)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cores = len(os.sched_getaffinity(0))
    return {"per_s": sum(done) / (time.monotonic() - begun), "hash_ms": hash_ms,
            "floor_per_s": cores * 1000 / hash_ms, "cores": cores}


def filled(side, token, kind, count, body, clients=8):
    """Makes so many over HTTP."""
    def make(first):
        http = wire.connect(side)
        for number in range(first, count, clients):
            wire.request(http, "POST", f"/api/v1/{kind}", body(number), token)

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(make, first) for first in range(clients)]:
            done.result()


def place(number):
    return {"type": "Point", "coordinates": [number * 7 % 3600 / 10 - 180, number * 11 % 1600 / 10 - 80]}


def restarted(start, devices=100_000, incidents=10_000, times=3):
    """From the start of the process to its first answer, with a store that holds all these."""
    with start() as side:
        token, begun = wire.login(wire.connect(side)), time.monotonic()
        filled(side, token, "devices", devices, lambda number: {
            "name": f"Siren {number}", "kind": "siren", "hw_class": "siren-2", "location": place(number)})
        filled(side, token, "incidents", incidents, lambda number: {
            "title": f"Flood {number}", "kind": "flood", "severity": "Severe", "urgency": "Immediate",
            "certainty": "Observed", "geometry": place(number)})
        filling = time.monotonic() - begun
    waits, mib = [], 0
    for _ in range(times):
        with start() as side:
            waits.append(side.ready_s)
            mib = resident_kib(side.pid) / 1024
    return {"ready_s": statistics.median(waits), "worst_s": max(waits), "devices": devices, "incidents": incidents,
            "filled_in_s": filling, "resident_mib": mib}
