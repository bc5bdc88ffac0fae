"""The soak's own checks: each holds for what is right and breaches for what is not."""

import sys
from collections import Counter
from decimal import Decimal

import pytest
from server import ROOT

sys.path.insert(0, str(ROOT / "benches" / "gateway"))

from soaking import checks, fixture, hostile, ledger, siege, watch  # noqa: E402
from soaking.dialects import AnswerSummary  # noqa: E402
from soaking.traffic import Record  # noqa: E402

# Of a million tokens: 100 and 50 of them cost 0.00002 and 0.00006.
PRICES = {"m": {"input_per_million": 0.2, "output_per_million": 1.2}}
ROW = {"requests": 1, "failed": 0, "cancelled": 0, "prompt_tokens": 100, "completion_tokens": 50}


def record(end="whole", key="wide", **more):
    summary = AnswerSummary("m", 150, 100, 50) if end == "whole" else None
    return Record(key, "b", "m", False, False, 0.0, end, 0.1, 0.2, 200, summary=summary, **more)


def booked(key="wide", **changed):
    by_key = nothing_booked()
    by_key[key].rows["m"] = Counter({**ROW, "cost_usd": Decimal("0.00008"), **changed})
    return by_key


def nothing_booked():
    return {name: ledger.Booked({}) for name in fixture.KEYS}


def holds(lines):
    return all(line.holds for line in lines)


def test_a_ledger_that_is_the_sum_of_the_answers():
    assert holds(ledger.check([record()], booked(), PRICES))


@pytest.mark.parametrize("changed", [
    {"requests": 2}, {"requests": 0}, {"failed": 1}, {"prompt_tokens": 101, "completion_tokens": 49},
    {"completion_tokens": 49}, {"estimated_requests": 1}, {"cost_usd": Decimal("0.000080001")},
], ids=str)
def test_a_ledger_that_is_off_by_one(changed):
    assert not holds(ledger.check([record()], booked(**changed), PRICES))


def test_a_row_without_a_request():
    assert not holds(ledger.check([], booked(), PRICES))


def test_an_answer_without_a_row():
    assert not holds(ledger.check([record()], nothing_booked(), PRICES))


def test_money_that_is_still_set_aside():
    by_key = booked()
    by_key["wide"].held_usd = 1e-9
    assert not holds(ledger.check([record()], by_key, PRICES))


def test_a_failure_without_a_line():
    refused = record("refused")
    refused.status = 503
    failed = {"requests": 2, "failed": 1}
    assert holds(ledger.check([record(), refused], booked(**failed), PRICES))
    assert not holds(ledger.check([record(), refused], booked(), PRICES))


def test_a_call_that_brought_no_answer_is_charged_by_an_estimate():
    more = {"prompt_tokens": 180, "completion_tokens": 90, "cost_usd": Decimal("0.000144")}
    # The provider went away while the request was under way, and another one answered.
    assert holds(ledger.check([record()], booked(**more), PRICES, away=[0.1]))
    assert not holds(ledger.check([record()], booked(**more), PRICES, away=[60]))
    too_much = {"prompt_tokens": 3_000}
    assert not holds(ledger.check([record()], booked(**too_much), PRICES, away=[0.1]))


def test_no_ledger():
    assert not holds(ledger.check([record()], None, PRICES))


def test_a_request_that_was_left_may_be_booked_but_not_twice():
    left = [record("left", "rough")]
    assert holds(ledger.check(left, booked("rough"), PRICES))
    assert holds(ledger.check(left, nothing_booked(), PRICES))
    assert not holds(ledger.check(left, booked("rough", requests=2), PRICES))
    assert not holds(ledger.check(left, booked("rough", prompt_tokens=1_000), PRICES))


def test_a_budget_that_was_overspent():
    spent = booked("poor", cost_usd=Decimal(repr(fixture.SMALL_BUDGET)) + Decimal("1e-9"))
    lines = [line for line in ledger.check([], spent, PRICES) if line.what == "the budget holds"]
    assert not holds(lines)


@pytest.mark.parametrize("end", ["", "breach"])
def test_a_request_without_an_end(end):
    assert not holds(checks.ends([record(), record(end)]))


def test_a_limit_is_of_any_minute():
    def at(second):
        admitted = record(key="tight")
        admitted.sent = admitted.answered = second
        return admitted

    full = [at(second) for second in range(fixture.TIGHT_LIMIT)]
    assert holds(checks.rate_limit([*full, at(60.5)]))
    assert not holds(checks.rate_limit([*full, at(59.5)]))


def test_memory_that_grows_and_memory_that_does_not():
    def grown(by):
        return [watch.Sample(second, 20 + by * second / 600, 40) for second in range(600)]

    assert holds(checks.memory(grown(2), 600))
    assert not holds(checks.memory(grown(20), 600))


def test_descriptors_and_connections_that_are_not_given_back():
    before = watch.Quiet(True, 20.0, 40, 10)
    assert holds(checks.descriptors(before, watch.Quiet(True, 20.0, 50, 20), 24, 2))
    assert not holds(checks.descriptors(before, watch.Quiet(False, 20.0, 40, 10), 24, 2))
    assert not holds(checks.descriptors(before, watch.Quiet(True, 20.0, 60, 10), 24, 2))
    assert not holds(checks.descriptors(before, watch.Quiet(True, 20.0, 90, 60), 24, 2))


CALM, HOSTILE = (0.0, 10.0), (10.0, 20.0)


def answered(sent, took):
    record = Record("wide", "b", "gpt-5.6-luna", False, False, sent, "whole", sent + took, sent + took, 200)
    return record


def test_good_traffic_that_stays_fast_and_that_becomes_slow():
    calm = [answered(at / 100, 0.1) for at in range(1000)]
    for took, within in ((0.19, True), (0.25, False)):
        slower = [answered(10 + at / 100, took) for at in range(1000)]
        assert holds(siege.latency(calm + slower, (CALM, HOSTILE), [])) is within
    assert not holds(siege.latency(calm, (CALM, HOSTILE), [])), "nothing was answered under hostility"


def test_answers_while_a_provider_is_away_are_not_compared():
    calm, slower = [answered(1.0, 0.1)], [answered(12.0, 9.0), answered(19.0, 0.1)]
    assert holds(siege.latency(calm + slower, (CALM, HOSTILE), [11.0]))


@pytest.mark.parametrize("most, after, within", [(300, 120, True), (600, 120, False), (300, 260, False)])
def test_memory_under_hostility(most, after, within):
    samples = [watch.Sample(at, 100.0 if at < 10 else most, 9) for at in range(20)]
    assert holds(siege.memory(samples, (CALM, HOSTILE), watch.Quiet(True, after, 9, 0))) is within


def test_a_health_route_that_answers_late_or_not():
    for took, status, within in ((0.5, 200, True), (5.0, 200, False), (0.5, None, False)):
        samples = [(1.0, 0.1, 200), (15.0, took, status)]
        assert holds(siege.health(samples, (CALM, HOSTILE))) is within


@pytest.mark.parametrize("end, within", [("429", True), ("closed", True), ("no end", False), ("500", False)])
def test_hostile_attempts_end_properly(end, within):
    found = [hostile.Attempt(kind, 0.0, "429", 0.1) for kind, least in siege.LEAST.items() for _ in range(least)]
    assert holds(siege.attempts(found))
    assert holds(siege.attempts([*found, hostile.Attempt("a slow body", 0.0, end, 80.0)])) is within
    assert not holds(siege.attempts(found[1:])), "one attempt less than planned"


def test_a_server_that_answers_again_late_or_never():
    assert [holds(siege.recovery(seconds)) for seconds in (0.1, 9.0, None)] == [True, False, False]


def test_tables_that_made_up_names_fill():
    assert holds(siege.tables(20_000, 30_000, '{"reason": "not_found"}'))
    assert not holds(siege.tables(20_000, 1_600_000, '{"reason": "not_found"}'))
    assert not holds(siege.tables(20_000, 30_000, '{"reason": "unavailable"}'))
