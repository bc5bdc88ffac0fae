"""The conditions checked after a soak. Each check yields lines: whether it holds, its subject, the figures."""

import collections
import dataclasses

from . import fixture, traffic, watch

MAX_GROWTH_MIB = 8
MAX_SLOPE_MIB_PER_MINUTE = 1.0
# Files of the store and its journal come and go.
FDS_SLACK = 8
# A trend needs time to show, and a server some to fill its caches.
JUDGED_FROM_SECS = 150


@dataclasses.dataclass
class Line:
    holds: bool
    what: str
    figures: str


def ends(records):
    breaches = [record for record in records if record.end not in ("whole", "refused", "broken", "left")]
    counts = collections.Counter(record.end or "no end" for record in records)
    figures = ", ".join(f"{count} {end}" for end, count in counts.most_common())
    yield Line(not breaches, "every request has an end", figures)
    for record in breaches[:10]:
        figures = f"{record.key}, {record.dialect}, {record.model}, streamed {record.streamed}: {record.why}"
        yield Line(False, "a request without a proper end", figures)


def happened(records):
    """A soak in which nothing went wrong would show nothing."""
    kinds = {
        "a failover": lambda r: r.summary and r.model.startswith(("fail", "hang")) and r.summary.model != r.model,
        "a failure of all providers": lambda r: r.end == "refused" and r.status in (502, 503),
        "a key at its rate limit": lambda r: r.key == "tight" and r.status == 429,
        "a key out of its budget": lambda r: r.key == "poor" and r.status == 429 and r.code == "insufficient_quota",
        "a stream cut after its first content": lambda r: r.end == "broken",
        "a client that left a stream": lambda r: r.end == "left" and r.streamed,
        "a client that left before its answer": lambda r: r.end == "left" and not r.streamed,
        "a tool call": lambda r: r.summary and r.summary.called,
    }
    for dialect in traffic.BY_NAME:
        for streamed, mode in ((False, "whole"), (True, "streamed")):
            kinds[f"an answer by {dialect}, {mode}"] = (
                lambda r, dialect=dialect, streamed=streamed:
                    r.end == "whole" and (r.dialect, r.streamed) == (dialect, streamed))
    counts = {what: sum(1 for record in records if took_place(record)) for what, took_place in kinds.items()}
    missing = [what for what, count in counts.items() if not count]
    figures = "; ".join(f"{what} {count}" for what, count in counts.items())
    yield Line(not missing, "all that was planned happened", f"never: {', '.join(missing)}" if missing else figures)


def refusals(records):
    counts = collections.Counter((record.status, record.code) for record in records if record.end == "refused")
    figures = ", ".join(f"{count} x {status} {code}" for (status, code), count in counts.most_common())
    # The other keys have no effective limit, and a provider's own limits are not passed on as ours.
    wrong = [record for record in records
             if record.status == 429 and record.key not in ("tight", "poor")
             or record.status == 429 and record.key == "tight" and record.code != "rate_limit_exceeded"]
    yield Line(not wrong, "only those at a limit are refused for it", figures)


def rate_limit(records):
    """No span of a minute admits more than the limit. Those sent after its start and answered before its end count."""
    answered = (record for record in records if record.key == "tight" and record.answered is not None)
    admitted = sorted((record for record in answered if record.status != 429), key=lambda record: record.sent)
    most = 0
    for at, first in enumerate(admitted):
        most = max(most, sum(1 for record in admitted[at:] if record.answered <= first.sent + 60))
    figures = f"at most {most} of {fixture.TIGHT_LIMIT} in any minute"
    yield Line(most <= fixture.TIGHT_LIMIT, "the rate limit holds", figures)


def memory(samples, seconds):
    grown = watch.growth(samples)
    figures = (f"{grown.first:.1f} MiB after the warm-up, {grown.last:.1f} at the end, {grown.most:.1f} at most, "
               f"{grown.per_minute:+.2f} MiB a minute")
    if seconds < JUDGED_FROM_SECS:
        yield Line(True, "memory (too short a run to judge)", figures)
        return
    yield Line(grown.mib < MAX_GROWTH_MIB and grown.per_minute < MAX_SLOPE_MIB_PER_MINUTE, "memory is flat", figures)


def descriptors(before, after, clients, workers):
    left = [quiet for quiet in (before, after) if not quiet.settled]
    yield Line(not left, "providers are released once no client waits", "a provider was busy without a client")
    # Each serving thread keeps its own connections, at most as many as it ever had requests at once.
    most = clients * workers
    figures = f"{after.pooled} of {most} at most"
    yield Line(after.pooled <= most, "connections to providers are within the pool", figures)
    own = [quiet.fds - quiet.pooled for quiet in (before, after)]
    figures = f"{before.fds} after the warm-up, {after.fds} at the end; {own[0]} and {own[1]} without the pool"
    yield Line(own[1] <= own[0] + FDS_SLACK, "file descriptors are flat", figures)


def stopped(code, log):
    yield Line(code == 0, "SIGTERM ends it in order", f"exit code {code}")
    panics = [line for line in log.splitlines() if "panicked" in line]
    yield Line(not panics, "no panic in the log", panics[0] if panics else "none")
