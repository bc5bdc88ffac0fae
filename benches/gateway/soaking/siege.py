"""The conditions checked after a soak with hostile traffic: what the good clients notice of it, and what it leaves."""

import collections

from .checks import Line
from .hostile import PATIENCE_SECS

# Good traffic may become this much slower; differences below the floor are noise of the machine.
MOST_SLOWER, FLOOR_SECS = 2.0, 0.05
# Of the resident memory above that of the calm phase: the server's budget of bodies (256 MiB), and its parsed form.
MAX_GROWTH_MIB = 384
# What may stay after the hostile clients have gone.
MAX_LEFT_MIB = 96
MOST_HEALTH_SECS = 2.0
MAX_METRICS_GROWTH = 128 << 10
# Answers that a hostile request may get: it is refused, or it was no more than odd.
PROPER = {
    "200",
    "400",
    "401",
    "403",
    "404",
    "405",
    "408",
    "409",
    "413",
    "415",
    "422",
    "429",
    "431",
    "503",
    "529",
    "closed",
    "left",
}
# While providers are away, and until their circuits have closed again, good requests fail over.
AWAY_SECS = 5
LEAST = {
    "a slow body": 30,
    "an unfinished body": 60,
    "an unfinished head": 30,
    "a connection that is only held": 100,
    "a large nested body": 5,
    "a login with a made-up name": 20,
    "a socket with commands": 2,
    "a chat with an unknown model": 20,
}
# Models whose providers answer at once.
PROMPT_MODELS = ("gpt-5.6-luna", "mistral-small")


def p99(values):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * 0.99))] if values else float("nan")


def latencies(records, since, until, away):
    """Seconds to the head of whole answers of prompt models, where no provider was away."""
    return [
        record.answered - record.sent
        for record in records
        if record.end == "whole"
        and record.model in PROMPT_MODELS
        and since <= record.sent < until
        and not any(at - 1 <= record.sent <= at + AWAY_SECS for at in away)
    ]


def latency(records, phases, away):
    calm, siege = (latencies(records, *phase, away) for phase in phases)
    limit = max(p99(calm) * MOST_SLOWER, FLOOR_SECS)
    figures = (
        f"{p99(calm) * 1e3:.0f} ms of {len(calm)} calm, {p99(siege) * 1e3:.0f} ms of {len(siege)} under hostility, "
        f"at most {limit * 1e3:.0f}"
    )
    yield Line(bool(calm and siege) and p99(siege) <= limit, "good traffic's p99 at most doubles", figures)


def health(samples, phases):
    parts = [[(took, status) for sent, took, status in samples if since <= sent < until] for since, until in phases]
    most = [max((took for took, _ in part), default=float("nan")) for part in parts]
    bad = sum(status != 200 for part in parts for _, status in part)
    figures = (
        f"slowest {most[0] * 1e3:.0f} ms calm, {most[1] * 1e3:.0f} ms under hostility; {bad} without status 200, "
        f"of {sum(map(len, parts))}"
    )
    yield Line(most[1] <= MOST_HEALTH_SECS and not bad, "the health route answers", figures)


def memory(samples, phases, after):
    parts = [[sample.rss_mib for sample in samples if since <= sample.at < until] for since, until in phases]
    calm, siege = (max(part, default=float("nan")) for part in parts)
    figures = f"{calm:.0f} MiB at most while calm, {siege:.0f} under hostility, {after.rss_mib:.0f} afterwards"
    yield Line(siege - calm <= MAX_GROWTH_MIB, f"resident memory grows by at most {MAX_GROWTH_MIB} MiB", figures)
    yield Line(after.rss_mib - calm <= MAX_LEFT_MIB, f"at most {MAX_LEFT_MIB} MiB stay", figures)


def attempts(found):
    by_kind = collections.defaultdict(list)
    for attempt in found:
        by_kind[attempt.kind].append(attempt)
    for kind, least in LEAST.items():
        of = by_kind[kind]
        ends = collections.Counter(attempt.end for attempt in of)
        took = [attempt.ended - attempt.sent for attempt in of if attempt.end not in ("left", "no end")]
        figures = ", ".join(f"{count} x {end or 'nothing'}" for end, count in ends.most_common())
        figures += f"; slowest end after {max(took):.1f} s" if took else ""
        yield Line(not ends["no end"], f"{kind} ends within {PATIENCE_SECS} s", figures)
        wrong = {end: count for end, count in ends.items() if end not in PROPER | {"no end"}}
        if wrong:
            yield Line(False, f"{kind} is refused in a proper way", f"{wrong}")
        if len(of) < least:
            yield Line(False, f"{kind}: at least {least} attempts", f"only {len(of)}: the soak shows too little of it")


def recovery(seconds):
    figures = "not at all" if seconds is None else f"after {seconds:.1f} s"
    yield Line(
        seconds is not None and seconds <= MOST_HEALTH_SECS, "the server answers once hostile clients are gone", figures
    )


def tables(before, after, reply):
    """`before` and `after`: the size of `/metrics`. `reply`: to a command of a key that did nothing wrong."""
    yield Line(
        after - before <= MAX_METRICS_GROWTH,
        "names made up by clients are no labels",
        f"/metrics: {before} bytes, then {after}",
    )
    yield Line("not_found" in reply, "another key's command with `idem` is taken", reply)
