#!/usr/bin/env python3
"""How often params are found in instructions in prose, and how often what is found is wrong: by the rules alone, and with a
model of `agents.fill_model`. The instructions with their known values are in fill.json.

  benches/agents/fill.py --muster target/release/muster --models models-cache [--model muster-core --size standard]
"""

import argparse
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import serving  # noqa: E402

SETTINGS = """[llm]
model = "{size}"
cache = "{models}"
[agents]
fill_model = "{fill}"
planner_model = "none"
per_key = 8
[limits.agent]
agents = "unlimited"
health = "unlimited"
"""
# A model that is not loaded yet makes the first tasks wait.
WAIT = 55
ENDED = ("succeeded", "failed", "killed")
FOUND = re.compile(r" found (\[.*\])$")


def call(url, body=None):
    return serving.call(url, body, timeout=WAIT + 10)


def found(url, text):
    """The params that a task has once it waits for more, or has ended: those of the rules, and those of the model."""
    begun = call(f"{url}/api/v1/agents/{text['agent']}/run", {"task": text["task"]})["task_id"]
    sequence = 0
    for _ in range(12):
        task = call(f"{url}/api/v1/tasks/{begun}?wait={WAIT}&after_seq={sequence}")
        if task["status"] in ("waiting", *ENDED):
            break
        sequence = task["seq"]
    else:
        raise SystemExit(f"{text['task']}: still {task['status']}")
    params = dict(task["params"])
    for line in call(f"{url}/api/v1/tasks/{begun}/events")["logs"]:
        match = FOUND.search(line["text"])
        if match:
            params.update({one["param"]: one["value"] for one in json.loads(match.group(1))})
    if task["status"] not in ENDED:
        call(f"{url}/api/v1/tasks/{begun}/kill", {})
    return {name: params.get(name) for name in text["values"]}


def equal(one, other):
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-6)
    return one == other


def measure(arguments, fill, texts):
    settings = SETTINGS.format(size=arguments.size if fill else "none", models=arguments.models.resolve(), fill=fill)
    right = wrong = missed = 0
    mistakes = []
    with serving.server(arguments.muster.resolve(), settings, "/api/health") as (_, url, _, _):
        for text in texts:
            for name, value in found(url, text).items():
                expected = text["values"][name]
                if value is None:
                    missed += expected is not None
                elif equal(value, expected):
                    right += 1
                else:
                    wrong += 1
                    mistakes.append(f"    {name} = {value!r}, not {expected!r}: {text['task'][:90]}")
    known = sum(value is not None for text in texts for value in text["values"].values())
    share = wrong / max(right + wrong, 1)
    print(f"  {fill or 'rules alone':24} found {right} of {known} ({right / known:.0%}), missed {missed}, wrong {wrong} ({share:.1%} of what was found)")
    print("\n".join(mistakes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", type=pathlib.Path, required=True, help="a release build of the server")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path("models-cache"), help="folder of the embedded models")
    parser.add_argument("--model", default="muster-core", help="the model that looks for params")
    parser.add_argument("--size", default="standard", help="the embedded model: small, standard or better")
    arguments = parser.parse_args()
    texts = json.loads((HERE / "fill.json").read_text())["texts"]
    print(f"params in {len(texts)} instructions:")
    for fill in ("", arguments.model):
        measure(arguments, fill, texts)


if __name__ == "__main__":
    main()
