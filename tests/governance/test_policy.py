"""Veto rules of `crates/policy`, judged by cedarpy, which wraps another build of Cedar behind its own interface."""

import itertools
import json
import os
import random
import subprocess
from pathlib import Path

import cedarpy
import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "crates/policy/rules"
BOUNDARIES = {
    "frozen": [False, True],
    "risk": [1, 2, 3, 4],
    "bound": [False, True],
    "session_s": [0, 43200, 43201],
    "critical_incident": [False, True],
    "blast": [0, 10000, 10001],
    "budget_pct": [0, 300, 301],
    "rejected_1h": [False, True],
    "vetoed_1h": [4, 5],
    "audit_ok": [False, True],
}
ERRING = """permit (principal, action, resource);
@id("errs") forbid (principal, action, resource) when { context.blast * 922337203685477 > 0 };
@id("zero") forbid (principal, action == Action::"key.grant", resource) when { context.blast == 0 };
"""


@pytest.fixture(scope="session")
def judge():
    program = Path(os.environ.get("MUSTER_EXAMPLES", ROOT / "target/debug/examples")) / "policy"
    assert program.is_file(), f"no {program}: run cargo build -p muster-policy --example policy"

    def run(lines):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, check=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def generated():
    """Every combination of the boundary values, with a few actions and resources; a sample of 3,000 of the 4,608 that keeps each value."""
    names = list(BOUNDARIES)
    table = list(itertools.product(*BOUNDARIES.values()))
    random.Random(6).shuffle(table)
    actions, resources = ["key.grant", "policy.change", "anything.else"], ["ci", 'a "quoted" \\ name', "größe"]
    for number, row in enumerate(table[:3000]):
        context = dict(zip(names, row, strict=True))
        yield {"action": actions[number % 3], "resource": resources[number // 3 % 3], "requester": f"usr_{number % 7}"} | context


def requests_of(facts):
    context = {name: facts[name] for name in BOUNDARIES}
    entity = lambda kind, name: f"{kind}::{json.dumps(name, ensure_ascii=False)}"  # noqa: E731
    return {
        "principal": entity("Principal", facts["requester"]),
        "action": entity("Action", facts["action"]),
        "resource": entity("Resource", facts["resource"]),
        "context": context,
    }


def names_of(rules):
    """Cedar's names of the rules, by their order in the text, to the `@id` of each."""
    policies = json.loads(cedarpy.policies_to_json_str(rules))["staticPolicies"]
    return {name: policy.get("annotations", {}).get("id", name) for name, policy in policies.items()}


def theirs(rules, facts):
    names = names_of(rules)
    results = cedarpy.is_authorized_batch([requests_of(each) for each in facts], rules, [])
    for result in results:
        denied = result.decision == cedarpy.Decision.Deny
        vetoes = sorted(names[reason] for reason in result.diagnostics.reasons) if denied else []
        errors = sorted(names[error.policy_id] if hasattr(error, "policy_id") else str(error) for error in result.diagnostics.errors)
        yield {"vetoes": vetoes, "errors": errors}


def test_cedarpy_gives_the_same_vetoes_by_the_default_rules(judge):
    facts = list(generated())
    ours = judge([{"facts": each} for each in facts])
    rules = (RULES / "default.cedar").read_text()
    assert ours == list(theirs(rules, facts))
    hit = {rule for answer in ours for rule in answer["vetoes"]}
    assert hit == {"frozen", "stale", "incident", "blast", "budget", "again", "insisting", "no-audit"}
    assert any(answer["vetoes"] == [] for answer in ours)


def test_where_cedarpy_skips_a_rule_that_errs_ours_vetoes(judge):
    facts = list(generated())[:300]
    ours = judge([{"rules": ERRING, "facts": each} for each in facts])
    requests = [requests_of(each) for each in facts]
    results = cedarpy.is_authorized_batch(requests, ERRING, [])
    skipped = 0
    for answer, result in zip(ours, results, strict=True):
        erred = bool(result.diagnostics.errors)
        assert (answer["errors"] == ["errs"]) == erred
        skipped += erred and result.decision == cedarpy.Decision.Allow
    assert skipped > 50, "Cedar itself permits what a rule that errs was to forbid"


def test_cedarpy_validates_the_default_rules_and_refuses_what_we_refuse(judge):
    schema = (RULES / "schema.cedarschema").read_text()
    facts = next(iter(generated()))
    good = (RULES / "default.cedar").read_text()
    bad = "forbid (principal, action, resource) when { context.blasts > 1 };"
    assert cedarpy.validate_policies(good, schema).validation_passed
    assert not cedarpy.validate_policies(bad, schema).validation_passed
    accepted, refused = judge([{"rules": good, "facts": facts}, {"rules": bad, "facts": facts}])
    assert "vetoes" in accepted and "blast" in refused["refused"]
