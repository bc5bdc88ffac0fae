"""Veto rules of `crates/policy`, which reads a part of Cedar itself, judged by cedarpy, which wraps Cedar's own implementation."""

import itertools
import json
import random
import subprocess
from pathlib import Path

import built_programs
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
    program = built_programs.example("policy")

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


class Written:
    """Well-typed rules at random: every form that the crate takes, with numbers at the ends of the integers."""

    FLAGS = [name for name, values in BOUNDARIES.items() if values == [False, True]]
    COUNTS = [name for name, values in BOUNDARIES.items() if values != [False, True]]
    NUMBERS = [0, 1, -1, 3, 43200, 10001, 2**31, 2**62, 2**63 - 1, -(2**63), 922337203685477]
    ENTITIES = {
        "Principal": ["usr_0", "usr_1", 'a "b"'],
        "Action": ["key.grant", "policy.change", "anything.else"],
        "Resource": ["ci", 'a "quoted" \\ name', "größe", "line\nend\t\0"],
    }

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *of):
        return self.random.choice(of)

    def entity(self, kind):
        text = self.pick(*self.ENTITIES[kind]).replace("\\", "\\\\").replace('"', '\\"')
        return f'{kind}::"' + text.replace("\n", "\\n").replace("\t", "\\u{9}").replace("\0", "\\0") + '"'

    def long(self, depth):
        if depth == 0 or self.random.random() < 0.4:
            return self.pick(f"context.{self.pick(*self.COUNTS)}", str(self.pick(*self.NUMBERS)), f'context["{self.pick(*self.COUNTS)}"]')
        one, two, three = (self.long(depth - 1) for _ in range(3))
        flag = self.flag(depth - 1)
        return self.pick(f"{one} + {two}", f"{one} * {two} - {three}", f"-({one})", f"(if {flag} then {one} else {two})", f"({one} - {two})")

    def flag(self, depth):
        kind = self.pick(*self.ENTITIES)
        own, one, two = kind.lower(), self.entity(kind), self.entity(kind)
        if depth == 0 or self.random.random() < 0.2:
            return self.pick(
                "true", "false", f"context.{self.pick(*self.FLAGS)}", f"{own} == {one}", f"{own} in [{one}, {two}]",
                f"[{one}, {two}].contains({own})", f"{own} is {kind}", f"context has {self.pick(*self.COUNTS)}", f"{one} != {two}",
                '"a\\u{e4}" == "aä"', f"{own} is {kind} in {one}",
            )
        low, high = self.long(depth - 1), self.long(depth - 1)
        left, right, third = (self.flag(depth - 1) for _ in range(3))
        return self.pick(
            f"{low} {self.pick('<', '<=', '>', '>=', '==', '!=')} {high}", f"({left} && {right} && {third})",
            f"({left} || {right} || {third})", f"!({left})", f"(if {left} then {right} else {third})",
            f"[{low}, {high}].contains({self.long(depth - 1)})", f"[{low}].containsAny([{high}, 1])",
            f"[1, {low}].containsAll([{high}])", f"({left}) == ({right})",
        )

    def rule(self, number):
        effect = "permit" if number == 0 else "forbid"
        principal = self.pick("principal", "principal", f"principal == {self.entity('Principal')}", "principal is Principal")
        action = self.pick("action", "action", f"action == {self.entity('Action')}", f"action in [{self.entity('Action')}, {self.entity('Action')}]")
        resource = self.pick("resource", "resource", f"resource in {self.entity('Resource')}", f"resource is Resource in {self.entity('Resource')}")
        conditions = "".join(f" {self.pick('when', 'unless')} {{ {self.flag(3)} }}" for _ in range(self.pick(0, 1, 1, 2)))
        hard = self.pick("", "@hard ")
        return f'@id("r{number}") {hard}{effect} ({principal}, {action}, {resource}){conditions}; // {number}\n'


def test_cedarpy_judges_generated_rules_as_we_do(judge):
    facts, seen = list(generated())[:40], {"vetoed": 0, "erred": 0, "passed": 0, "refused": 0}
    for seed in range(400):
        written = Written(seed)
        # One that permits everything, so that what is denied is denied by a rule.
        rules = "permit (principal, action, resource);\n" + "".join(written.rule(n) for n in range(written.pick(1, 2, 4)))
        some = written.random.sample(facts, 8)
        ours = judge([{"rules": rules, "facts": each} for each in some])
        if "refused" in ours[0]:
            assert "bytes" in ours[0]["refused"] or "nested" in ours[0]["refused"], (ours[0], rules)
            seen["refused"] += 1
            continue
        names = names_of(rules)
        for each, answer, result in zip(some, ours, cedarpy.is_authorized_batch([requests_of(one) for one in some], rules, []), strict=True):
            denied = result.decision == cedarpy.Decision.Deny
            vetoes = sorted(names[reason] for reason in result.diagnostics.reasons) if denied else []
            errors = sorted(names[error.split("`")[1]] for error in map(str, result.diagnostics.errors))
            assert (answer["vetoes"], answer["errors"]) == (vetoes, errors), (rules, each)
            seen["erred" if errors else "vetoed" if vetoes else "passed"] += 1
    assert min(seen["vetoed"], seen["erred"], seen["passed"]) > 100 and seen["refused"] < 40, seen


def test_cedarpy_parses_what_we_take_and_validates_it(judge):
    schema, facts = (RULES / "schema.cedarschema").read_text(), next(iter(generated()))
    listed = schema.replace('"agent.autonomy"', '"agent.autonomy", "anything.else"')
    checked = 0
    for seed in range(400, 600):
        rules = Written(seed).rule(1)
        (answer,) = judge([{"rules": rules, "facts": facts}])
        if "refused" in answer:
            continue
        result = cedarpy.validate_policies(rules, listed)
        # Cedar also refuses what can never hold, which is no error of a type.
        errors = [str(error) for error in result.errors if "impossible" not in str(error)]
        assert not errors, (rules, errors)
        checked += 1
    assert checked > 150


@pytest.mark.parametrize(
    "condition",
    [
        "context.blast == true", "context.frozen > 1", "context.nope", "1 + true > 0", '"a" < "b"',
        "if 1 then true else false", "if true then 1 else true", "principal.name == 1", "[1, true].contains(1)", "!1", "-true == 1",
        "action in 1", "context.blast", "resource is Person", 'principal == Person::"x"', "!!!!!true", "9223372036854775808 > 0",
        "true &&", "context.risk = 1", "context.risk > 1 > 0", '"\\q" == ""', "context.if == 1", "unknown(1)",
    ],
)
def test_cedarpy_refuses_what_we_refuse(judge, condition):
    rules = f"forbid (principal, action, resource) when {{ {condition} }};"
    (answer,) = judge([{"rules": rules, "facts": next(iter(generated()))}])
    assert "refused" in answer, rules
    assert not cedarpy.validate_policies(rules, (RULES / "schema.cedarschema").read_text()).validation_passed, rules
