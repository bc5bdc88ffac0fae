"""The clients of the soak, with a record of how each request ended."""

import asyncio
import dataclasses
import itertools
import json
import random
import time

from . import dialects, fixture as fixtures
from .wire import Broken, Connection, call, events

# Longer than any bound of the server's: past this a request counts as one without an end.
PATIENCE_SECS = 45
# A refusal that a client must be ready for; any other status is a breach.
REFUSALS = {429, 502, 503, 504, 529}
BY_NAME = {dialect.name: dialect for dialect in dialects.ALL}
# Weights.
EXACT = {"gpt-5.6-luna": 48, "mistral-small": 25, "slow-50": 8, "fail-500": 8, "fail-429": 5, "hang": 2}
ROUGH = {"gpt-5.6-luna": 50, "mistral-small": 20, "cut-10": 25, "hang": 5}
PLAIN = {"gpt-5.6-luna": 1}
# Key: its weight, its dialects, its models.
KEYS = {
    "wide": (33, ("b", "agent", "q159", "messages", "responses"), EXACT),
    "budgeted": (15, ("b", "agent", "q159", "messages", "responses"), EXACT),
    "front": (14, ("a",), EXACT),
    "rough": (24, ("a", "b", "agent", "q159", "messages", "responses"), ROUGH),
    "tight": (8, ("b",), PLAIN),
    "poor": (6, ("b",), PLAIN),
}
LEAVES, RECONNECTS, STREAMS, ASKS_TOOLS = 0.4, 0.2, 0.6, 0.25


@dataclasses.dataclass
class Record:
    """One request. `end`: whole, refused, broken (an error event within a stream), left, or breach."""

    key: str
    dialect: str
    model: str
    streamed: bool
    tools: bool
    sent: float
    end: str = ""
    # Of the head of the answer.
    answered: float | None = None
    ended: float | None = None
    status: int | None = None
    code: str | None = None
    summary: dialects.AnswerSummary | None = None
    why: str | None = None


class Left(Exception):
    """The client goes away, as it meant to."""


class Client:
    """Sends requests on one connection until stopped."""

    def __init__(self, fixture, seed, records):
        self.fixture, self.random, self.records = fixture, random.Random(seed), records
        self.connection = Connection(fixture.port)

    async def run(self, stop, mean_pause):
        while not stop.is_set():
            await self.once()
            if self.random.random() < RECONNECTS:
                self.connection.close()
            await asyncio.sleep(self.random.expovariate(1 / mean_pause))
        self.connection.close()

    def choose(self):
        chance = self.random
        key = chance.choices(list(KEYS), [weight for weight, *_ in KEYS.values()])[0]
        _, names, models = KEYS[key]
        dialect = BY_NAME[chance.choice(names)]
        model = chance.choices(list(models), models.values())[0]
        tools = dialect.tools and chance.random() < ASKS_TOOLS
        return Record(key, dialect.name, model, chance.random() < STREAMS, tools, time.monotonic())

    async def once(self):
        record = self.choose()
        self.records.append(record)
        # `None`: it stays to the end.
        leaves = self.random.randint(0, 12) if record.key == "rough" and self.random.random() < LEAVES else None
        try:
            await asyncio.wait_for(self.talk(record, leaves), PATIENCE_SECS)
        except Left:
            record.end = "left"
        except TimeoutError:
            record.end, record.why = "breach", f"no end within {PATIENCE_SECS} s"
        except (Broken, OSError, KeyError, TypeError, IndexError, ValueError) as why:
            record.end, record.why = "breach", repr(why)
        record.ended = time.monotonic()
        if record.end in ("left", "breach"):
            self.connection.close()

    async def talk(self, record, leaves):
        dialect = BY_NAME[record.dialect]
        body = dialect.request_body(record.model, record.streamed, record.tools)
        pending = self.connection.request("POST", dialect.path, self.fixture.keys[record.key], body)
        if leaves is not None and not record.streamed:
            await self.leave_before_the_answer(pending, leaves / 1000)
        record.status, headers, pieces = await pending
        record.answered = time.monotonic()
        if record.status != 200:
            await self.refused(record, dialect, headers, pieces)
        elif record.streamed:
            await self.read_stream(record, dialect, pieces, leaves)
        else:
            record.summary = dialect.whole(await as_json(pieces))
            record.end = "whole"

    async def leave_before_the_answer(self, pending, seconds):
        task = asyncio.ensure_future(pending)
        await asyncio.wait([task], timeout=seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise Left

    async def refused(self, record, dialect, headers, pieces):
        record.code = dialect.code(await as_json(pieces))
        if record.status not in REFUSALS:
            raise Broken(f"status {record.status}, code {record.code}")
        # A budget is full again in another month: there is nothing to wait for.
        if record.status in (429, 503) and "retry-after" not in headers and record.key != "poor":
            raise Broken(f"status {record.status} without Retry-After")
        record.end = "refused"

    async def read_stream(self, record, dialect, pieces, leaves):
        state, count, ended = {}, 0, False
        async for name, data in events(pieces):
            if ended:
                raise Broken(f"something follows the end: {name} {data[:100]}")
            outcome = dialect.event(name, dialects.parsed(data), state)
            if isinstance(outcome, dialects.AnswerSummary):
                record.summary, record.end, ended = outcome, "whole", True
            elif outcome is not None:
                record.code, record.end, ended = dialect.code(error_of(outcome)), "broken", True
            count += 1
            if count == leaves:
                raise Left
        if not ended:
            raise Broken("the stream ends without a word")


def error_of(outcome):
    """The error's body: an event of the Responses API carries more."""
    return {"error": outcome["error"]} if outcome.get("type") == "error" and "sequence_number" in outcome else outcome


async def as_json(pieces):
    return json.loads(b"".join([piece async for piece in pieces]))


async def restarts(fixture, stop, every):
    """Now and then all providers refuse connections for a while, and in turn with that the first one alone."""
    for names in itertools.cycle((fixtures.PROVIDERS, [fixtures.FIRST])):
        try:
            return await asyncio.wait_for(stop.wait(), every)
        except TimeoutError:
            fixture.away.append(time.monotonic())
            for name in names:
                await call(fixture.upstreams[name][0], "POST", "/away", "", {"seconds": 1})


async def load(fixture, seconds, clients, rate, seed, records):
    """So many clients for so long, all ended when it returns."""
    stop = asyncio.Event()
    pending = [Client(fixture, seed + number, records).run(stop, clients / rate) for number in range(clients)]
    away = restarts(fixture, stop, max(seconds / 4, 3) if seconds < 120 else 45)
    running = asyncio.gather(*pending, away)
    try:
        await asyncio.wait([running], timeout=seconds)
    finally:
        stop.set()
    await running
