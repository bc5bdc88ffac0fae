"""The ledger compared with the clients' records: the same sums for each key and model, to token and nanodollar."""

import collections
import dataclasses
import datetime
import decimal

from . import fixture, wire
from .checks import Line
from .upstream import MOST_COMPLETION, MOST_PROMPT

NANO = decimal.Decimal("1e-9")
# Of a request whose end its client did not see. A prompt that the server counted itself is shorter than that.
MOST_TOKENS = MOST_PROMPT + MOST_COMPLETION
# Provider calls for one request.
ATTEMPTS = 3


@dataclasses.dataclass
class Sum:
    """Sums over requests that succeeded. `split` is false where a dialect reports the total only."""

    answers: int = 0
    total: int = 0
    prompt: int = 0
    completion: int = 0
    cost_usd: decimal.Decimal = decimal.Decimal(0)
    split: bool = True


@dataclasses.dataclass
class Booked:
    """The ledger of a key: its rows by model, summed over the days, and the amount still held."""

    rows: dict[str, collections.Counter]
    held_usd: float = 0.0


async def read(built):
    """Each key's, by its own word; `None` where there is no ledger."""
    yesterday = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1)
    booked = {}
    for name, key in built.keys.items():
        status, body = await wire.call(built.port, "GET", f"/api/v1/usage?from={yesterday}", key)
        if status == 404:
            return None
        if status != 200:
            raise SystemExit(f"GET /api/v1/usage answers {status}: {body}")
        rows = collections.defaultdict(collections.Counter)
        for row in body["usage"]:
            for column in ("requests", "failed", "cancelled", "prompt_tokens", "completion_tokens", "estimated_requests"):
                rows[row["model"]][column] += row[column]
            rows[row["model"]]["cost_usd"] += decimal.Decimal(repr(row["cost_usd"])).quantize(NANO)
        booked[name] = Booked(rows, body["budget"]["held_usd"])
    return booked


def answer_sums(records, prices):
    """{key: {model: Sum}} of the answers."""
    sums = collections.defaultdict(lambda: collections.defaultdict(Sum))
    for record in records:
        if record.summary is None:
            continue
        summary, into = record.summary, sums[record.key][record.summary.model]
        into.answers += 1
        into.total += summary.total
        if summary.prompt is None:
            into.split = False
            continue
        into.prompt += summary.prompt
        into.completion += summary.completion
        into.cost_usd += cost(prices.get(summary.model), summary)
    return sums


def cost(price, summary):
    """Rounded half up to the nanodollar, as each answer is."""
    if price is None:
        return decimal.Decimal(0)
    per_million = [decimal.Decimal(repr(price[side])) for side in ("input_per_million", "output_per_million")]
    usd = (per_million[0] * summary.prompt + per_million[1] * summary.completion) / 1_000_000
    return usd.quantize(NANO, decimal.ROUND_HALF_UP)


def unanswered(records, key, model, away):
    """The most provider calls for this key and model that began and brought no answer: those of requests that were refused
    by a failure, and of requests under way when a provider went away. Each is charged by an estimate."""

    def interrupted(record):
        failed = record.end == "refused" and (record.status or 0) >= 500
        return failed or any(record.sent <= at + 1 and at - 1 <= (record.ended or at) for at in away)

    return ATTEMPTS * sum(record.key == key and record.model == model and interrupted(record) for record in records)


def check(records, booked, prices, away=()):
    """Lines of the rows, of the requests without usage, of what is held, and of the budget."""
    if booked is None:
        yield Line(False, "the ledger is the sum of the answers", "there is no ledger: GET /api/v1/usage answers 404")
        return
    sums = answer_sums(records, prices)
    compared, exact, wrong = 0, 0, []
    for key in fixture.KEYS:
        # Ended without a word on its usage: each may be booked, with at most so much.
        unsure = sum(1 for record in records if record.key == key and record.end in ("left", "broken", "breach"))
        for model in sums[key].keys() | booked[key].rows.keys():
            lost = unanswered(records, key, model, away)
            compared, exact = compared + 1, exact + (unsure == lost == 0)
            row = booked[key].rows.get(model, collections.Counter())
            most_usd = max((price["output_per_million"] for price in prices.values() if price), default=0)
            wrong += differences(key, model, sums[key][model], row, unsure, lost, most_usd)
    figures = f"{compared} rows, {exact} of them to the token and nanodollar, the others within what was left or cut"
    yield Line(not wrong, "the ledger is the sum of the answers", "; ".join(wrong[:10]) or figures)
    yield from lines_for_all(records, booked)
    priced = [record for record in records if record.summary and record.summary.cost_usd is not None]
    off = [summary for summary in (record.summary for record in priced)
           if decimal.Decimal(repr(summary.cost_usd)).quantize(NANO) != cost(prices.get(summary.model), summary)]
    figures = f"{len(priced)} answers, {len(off)} off"
    yield Line(not off, "what an answer says it cost is its usage at the model's price", figures)
    held = {key: of.held_usd for key, of in booked.items() if of.held_usd}
    yield Line(not held, "nothing is set aside any more", f"{held or 'nothing'}")
    spent = sum(row["cost_usd"] for row in booked["poor"].rows.values())
    rejected = any(record.key == "poor" and record.status == 429 for record in records)
    figures = f"{spent} of {fixture.SMALL_BUDGET} USD, {'then refused' if rejected else 'not used up'}"
    yield Line(spent <= decimal.Decimal(repr(fixture.SMALL_BUDGET)), "the budget holds", figures)


def lines_for_all(records, booked):
    """Every request that a provider was to answer has its line, those that failed and those that were left too."""
    wrong, counted = [], 0
    for key, of in booked.items():
        ends = collections.Counter(record.end for record in records if record.key == key and record.status != 429)
        requests = sum(row["requests"] for row in of.rows.values())
        failed = sum(row["failed"] for row in of.rows.values())
        counted += requests
        # One that left before it was read has none. What a spent budget refused may have one.
        refused = sum(1 for record in records if record.key == key == "poor" and record.status == 429)
        most = sum(ends.values()) + refused
        if not sum(ends.values()) - ends["left"] <= requests <= most:
            wrong.append(f"{key}: {requests} lines for {dict(ends)}")
        if key not in ("poor", "rough") and failed != ends["refused"]:
            wrong.append(f"{key}: {failed} failed lines for {ends['refused']} refusals")
    yield Line(not wrong, "every request has its line in the ledger", "; ".join(wrong) or f"{counted} lines")


def differences(key, model, answers, row, unsure, lost=0, most_usd=0):
    """Where the ledger's row is less than the answers, or more than those and all that is not known: `unsure` requests,
    `lost` calls of a provider that takes at most `most_usd` for a million tokens."""
    well = row["requests"] - row["failed"] - row["cancelled"]
    tokens = lost * MOST_TOKENS
    usd = tokens * decimal.Decimal(repr(most_usd)) / 1_000_000
    pairs = [("answers", answers.answers, well, unsure),
             ("tokens", answers.total, row["prompt_tokens"] + row["completion_tokens"], unsure * MOST_TOKENS + tokens)]
    if not unsure:
        pairs.append(("estimates", 0, row["estimated_requests"], 0))
    if answers.split and not unsure:
        pairs += [("prompt tokens", answers.prompt, row["prompt_tokens"], tokens),
                  ("completion tokens", answers.completion, row["completion_tokens"], tokens),
                  ("USD", answers.cost_usd, row["cost_usd"], usd)]
    for column, least, found, room in pairs:
        if not least <= found <= least + room:
            most = f" to {least + room}" if room else ""
            yield f"{key}, {model}: {found} {column} in the ledger, {least}{most} in the answers"
