"""Runs engines on JSON lines and compares their outputs with those of other packages.

A family's script has `ORACLES`: for each number a function that makes an input from a generator of random numbers, and
one that computes the expected part of the output with a package. `None` in it stands for what is not compared. `accepts`,
if there is one, says whether the package takes an input: one that the engine refuses all the same is a difference. Members of
an input that begin with an underscore are for the oracle and not sent.
"""
import json
import math
import os
import subprocess
import sys

import numpy as np

COUNT = int(os.environ.get("MUSTER_ORACLE_COUNT", "200"))


class Engines:
    """The example program `engine_lines`, with one family; `MUSTER_LINES` names one that is built already."""

    def __init__(self, family):
        ready = os.environ.get("MUSTER_LINES")
        command = [ready] if ready else [
            "cargo", "run", "--quiet", "--release", "--package", "muster-engines", "--no-default-features", "--features", family,
            "--example", "engine_lines"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, number, value):
        sent = {name: item for name, item in value.items() if not name.startswith("_")}
        self.process.stdin.write(json.dumps({"engine": number, "input": sent}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def differences(expected, actual, path=""):
    """Yields (path, expected, actual, distance): the distance is the smaller of absolute and relative difference."""
    if expected is None:
        return
    if isinstance(expected, dict):
        for key, item in expected.items():
            if not isinstance(actual, dict) or key not in actual:
                if item is not None:
                    yield f"{path}.{key}", item, None, math.inf
            else:
                yield from differences(item, actual[key], f"{path}.{key}")
    elif isinstance(expected, (list, tuple)):
        if not isinstance(actual, list) or len(actual) < len(expected):
            yield path, expected, actual, math.inf
            return
        for at, item in enumerate(expected):
            yield from differences(item, actual[at], f"{path}[{at}]")
    elif isinstance(expected, bool) or isinstance(expected, str):
        yield path, expected, actual, 0.0 if expected == actual else math.inf
    else:
        if not isinstance(actual, (int, float)):
            yield path, expected, actual, math.inf
            return
        gap = abs(float(expected) - float(actual))
        yield path, expected, actual, min(gap, gap / max(abs(float(expected)), 1e-300))


def whole(expected, actual):
    """The expected list, with an item that cannot be found if the actual one is longer."""
    expected = list(expected)
    return expected + ["(no more)"] * (isinstance(actual, list) and len(actual) > len(expected))


def equal(one, other):
    """Whether two values of JSON are equal: numbers by value, truths are no numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def exact(expected, actual):
    """What `main` compares a value of JSON with that has to be equal, nulls included."""
    return None if equal(expected, actual) else f"exactly {json.dumps(expected, ensure_ascii=False)}"


def claim(holds, text):
    """An expectation that is no member of the output: where it does not hold the difference has no bound."""
    return {} if holds else {f"<{text}>": True}


def pick(rng, items):
    """One of the items."""
    return items[int(rng.integers(len(items)))]


def plain(value):
    """Numbers of numpy as numbers of JSON; what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (np.bool_, bool)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value


def main(family, oracles):
    """Samples inputs, compares and prints one line for each engine; exits with 1 if a difference is beyond tolerance."""
    only = {int(text.lstrip("q")) for text in sys.argv[1:]}
    engines, failed = Engines(family), False
    for number, oracle in sorted(oracles.items()):
        if only and number not in only:
            continue
        worst, where, compared, refused = 0.0, "", 0, 0
        for at in range(min(oracle.get("count", COUNT), COUNT)):
            value = plain(oracle["sample"](np.random.default_rng([number, at])))
            answer = engines.run(number, value)
            if "failure" in answer:
                refused += 1
                if "accepts" in oracle and oracle["accepts"](value):
                    worst, where = math.inf, f"{value}: {answer['failure']} (sample {at})"[:1000]
                if refused <= 2:
                    print(f"    q{number} refuses: {answer['failure'][:200]}", file=sys.stderr)
                continue
            compared += 1
            expected = plain(oracle["expect"](value, answer["output"]))
            for path, want, got, distance in differences(expected, answer["output"]):
                if distance > worst:
                    worst, where = distance, f"{path} {want} {got} (sample {at})"
        passed = worst <= oracle["tolerance"] and compared > 0
        failed |= not passed
        state = "ok  " if passed else "FAIL"
        print(f"{state} q{number}: {compared} compared, {refused} refused, worst {worst:.2e} of {oracle['tolerance']:.0e}"
              f" with {oracle['package']}" + ("" if worst == 0 else f" at {where}"), flush=True)
    sys.exit(1 if failed else 0)
