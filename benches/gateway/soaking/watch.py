"""What the server's process holds: memory, file descriptors, connections to its providers."""

import asyncio
import dataclasses
import os
import pathlib
import re
import statistics
import time

MIB = 1024


@dataclasses.dataclass
class Sample:
    at: float
    rss_mib: float
    fds: int


@dataclasses.dataclass
class Quiet:
    """A sample while there are no requests."""

    settled: bool
    rss_mib: float
    fds: int
    # Open connections to the providers, kept for further requests.
    pooled: int


def sample(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    rss = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / MIB
    return Sample(time.monotonic(), rss, len(os.listdir(f"/proc/{pid}/fd")))


async def watch(pid, samples, every=1.0):
    """Until it is cancelled."""
    while True:
        samples.append(sample(pid))
        await asyncio.sleep(every)


async def quiet(fixture):
    settled = await fixture.quiet()
    pooled = sum(stats["open"] for stats in (await fixture.stats()).values())
    now = sample(fixture.server.pid)
    return Quiet(settled, now.rss_mib, now.fds, pooled)


@dataclasses.dataclass
class Growth:
    """Of the memory, in MiB: medians of the first and the last fifth, and the slope of the line of least squares."""

    first: float
    last: float
    per_minute: float
    most: float

    @property
    def mib(self):
        return self.last - self.first


def growth(samples):
    fifth = max(len(samples) // 5, 1)
    first, last = (statistics.median(each.rss_mib for each in part) for part in (samples[:fifth], samples[-fifth:]))
    slope = statistics.linear_regression([each.at / 60 for each in samples], [each.rss_mib for each in samples]).slope
    return Growth(first, last, slope, max(each.rss_mib for each in samples))
