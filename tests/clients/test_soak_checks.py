"""The soak's own checks: each holds for what is right and breaches for what is not."""

import sys
from collections import Counter
from decimal import Decimal

import pytest
from server import ROOT

sys.path.insert(0, str(ROOT / "benches" / "gateway"))

from soaking import checks, fixture, ledger, watch  # noqa: E402
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
