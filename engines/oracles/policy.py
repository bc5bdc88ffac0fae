"""Oracles of the family platform: `python engines/oracles/policy.py [q57 …]` (a `platform.py` would hide the module of the standard library).

q62 has none: it shows the state of the server.
"""
import datetime
import itertools
import json
import re
from zoneinfo import ZoneInfo

import drain3
import numpy as np
import pandas as pd
import portion
import regopy
from croniter import croniter
from drain3.template_miner_config import TemplateMinerConfig

from jsonlines import main, pick, whole

ORACLES = {}
UTC = datetime.timezone.utc


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        if hasattr(cls, "accepts"):
            ORACLES[number]["accepts"] = cls.accepts
        return cls
    return register


def stamp(time):
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


@oracle(57, "croniter, zoneinfo", 0)
class CronSchedule:
    """croniter gives the local readings; that those in a gap are left out and folds run once is applied by zoneinfo."""

    ZONES = [
        "UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca", "America/Havana",
        "Pacific/Apia"
    ]
    FIELDS = [
        ["*", "0", "30", "*/15", "5-59/20", "0,20,40", "59"], ["*", "2", "0", "*/6", "1-3", "9-17", "0,12,23"],
        ["*", "*", "*", "1", "31", "15,30", "1-7", "L", "29"], ["*", "*", "*", "2", "JAN-MAR", "*/3", "11,3", "dec"],
        ["*", "*", "*", "1-5", "MON", "0", "7", "sun,tue", "5#2", "1#5", "5L", "6-7"],
    ]

    def sample(rng):
        fields = [pick(rng, choices) for choices in CronSchedule.FIELDS]
        if "#" in fields[4] or "L" in fields[4]:
            # croniter leaves the days of the month out beside such a weekday.
            fields[2] = "*"
        if rng.random() < 0.15:
            fields.insert(0, pick(rng, ["0", "30", "*/20", "10-12"]))
        expression = pick(rng, ["@daily", "@hourly", "@weekly", "@monthly", "@yearly"]) if rng.random() < 0.05 else " ".join(fields)
        after = datetime.datetime(2020, 1, 1, tzinfo=UTC) + datetime.timedelta(seconds=int(rng.integers(0, 8 * 365 * 86400)))
        if rng.random() < 0.5:
            # Shortly before a change of clocks.
            day = pick(rng, [(2026, 3, 29), (2026, 10, 25), (2026, 3, 8), (2026, 11, 1), (2026, 4, 5), (2026, 10, 4), (2024, 2, 28)])
            after = datetime.datetime(*day, tzinfo=UTC) - datetime.timedelta(minutes=int(rng.integers(0, 1500)))
        start = after + datetime.timedelta(hours=int(rng.integers(0, 40)))
        return {"expression": expression, "timezone": pick(rng, CronSchedule.ZONES), "after": stamp(after), "count": int(rng.integers(1, 12)),
                "blackout": [{"start": stamp(start), "end": stamp(start + datetime.timedelta(hours=3))}] if rng.random() < 0.5 else []}

    def readings(i):
        fields, zone = i["expression"].split(), ZoneInfo(i["timezone"])
        after = datetime.datetime.fromisoformat(i["after"].replace("Z", "+00:00"))
        start = after.astimezone(zone).replace(tzinfo=None) - datetime.timedelta(seconds=1)
        # croniter writes the last Friday of a month as L5.
        text = re.sub(r"\b(\d)L$", r"L\1", i["expression"])
        cron = croniter(text, start, second_at_beginning=len(fields) == 6, max_years_between_matches=3000)
        runs = []
        while len(runs) < i["count"]:
            local = cron.get_next(datetime.datetime)
            at = local.replace(tzinfo=zone, fold=0)
            exists = at.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
            if exists and at.astimezone(UTC) > after:
                runs.append(at.astimezone(UTC))
        return after, runs

    def expect(i, out):
        after, runs = CronSchedule.readings(i)
        text = [stamp(run) for run in runs]
        blocked = [run for run in runs if any(b["start"] <= stamp(run) < b["end"] for b in i["blackout"])]
        return {
            "runs": whole(text, out["runs"]), "next_in": (runs[0] - after).total_seconds(), "conflicts": whole([stamp(run) for run in blocked],
                                                                                                               out["conflicts"])
        }

    def accepts(i):
        try:
            CronSchedule.readings(i)
        except Exception:
            return False
        return True


@oracle(58, "drain3", 0)
class LogPatterns:
    """Lines of words of one length without levels, numbers and times: what the engine masks and joins on top of Drain is not compared.

    The paper has depth - 2 layers of words, drain3 one less.
    """

    WORDS = ["open", "close", "user", "file", "disk", "ready", "lost", "node", "link", "up", "down", "slow", "fast", "alpha", "beta", "gamma"]

    def sample(rng):
        length = int(rng.integers(5, 9))
        shapes = [[pick(rng, LogPatterns.WORDS) for _ in range(length)] for _ in range(int(rng.integers(1, 5)))]
        lines = []
        for _ in range(int(rng.integers(2, 60))):
            line = list(pick(rng, shapes))
            for at in rng.integers(0, length, int(rng.integers(0, 3))):
                line[at] = pick(rng, LogPatterns.WORDS)
            lines.append(" ".join(line))
        return {"lines": lines, "similarity": pick(rng, [0.3, 0.4, 0.5, 0.7]), "depth": int(rng.integers(3, 6))}

    def expect(i, out):
        config = TemplateMinerConfig()
        config.drain_sim_th, config.drain_depth, config.parametrize_numeric_tokens = i["similarity"], i["depth"] + 1, True
        config.mask_prefix, config.mask_suffix = "<", ">"
        miner = drain3.TemplateMiner(config=config)
        for line in i["lines"]:
            miner.add_log_message(line)
        found = {(c.get_template(), c.size) for c in miner.drain.clusters}
        if any("<*> <*>" in template for template, _ in found):
            return {}
        mine = {(t["template"], t["count"]) for t in out["templates"]}
        return {"templates": None if mine == found else f"{sorted(found)}"}

    accepts = lambda i: True


@oracle(59, "pandas", 1e-9)
class SloBurn:
    def sample(rng):
        size, step = int(rng.integers(2, 300)), int(rng.choice([60, 300, 3600, 7200]))
        start = datetime.datetime(2026, 1, 1, tzinfo=UTC)
        total = rng.integers(0, 1000, size)
        bad = rng.binomial(total, float(rng.choice([0, 0.001, 0.01, 0.2])))
        i = {
            "objective": float(rng.choice([90, 99, 99.9, 99.95])), "window_days": float(rng.choice([1, 7, 28, 30, 0.5 + 1])),
            "buckets": [{"time": stamp(start + datetime.timedelta(seconds=int(k * step))), "good": int(t - b), "total": int(t)}
                        for k, (t, b) in enumerate(zip(total, bad))]
        }
        if rng.random() < 0.5:
            i["now"] = stamp(start + datetime.timedelta(seconds=int(rng.integers(1, size * step + 100))))
        return i

    def expect(i, out):
        frame = pd.DataFrame(i["buckets"])
        frame.index = pd.to_datetime(frame["time"])
        step = frame.index.to_series().diff().min()
        now = pd.Timestamp(i["now"]) if "now" in i else frame.index.max() + step
        allowed = 1 - i["objective"] / 100
        def rate(window):
            part = frame[(frame.index >= now - window) & (frame.index < now)]
            return (part["total"] - part["good"]).sum() / part["total"].sum() if part["total"].sum() else None
        window = pd.Timedelta(days=i["window_days"])
        burn = {name: rate(pd.Timedelta(name)) for name in ("5min", "30min", "1h", "2h", "6h", "1D", "3D")}
        burn = {name.replace("min", "m").lower(): r / allowed for name, r in burn.items() if r is not None}
        # Table 5-8 of the workbook.
        fires = lambda long, short, threshold: burn.get(long, 0) > threshold and burn.get(short, 0) > threshold
        alerts = [("page 1h/5m", 14.4, fires("1h", "5m", 14.4)), ("page 6h/30m", 6, fires("6h", "30m", 6)), ("ticket 1d/2h", 3, fires("1d", "2h", 3)),
                  ("ticket 3d/6h", 1, fires("3d", "6h", 1))]
        left = 1 - rate(window) / allowed
        current = burn.get("1h", next((burn[n] for n in ("5m", "30m", "2h", "6h", "1d", "3d") if n in burn), 0))
        end = now + max(left, 0) * window / current if current else None
        near = end is None and "exhaustion" not in out or out.get("exhaustion") and abs((pd.Timestamp(out["exhaustion"]) - end).total_seconds()) <= 0.51
        return {
            "sli": 100 * (1 - rate(window)), "budget_remaining": 100 * left,
            "burn_rates": burn if burn.keys() == out["burn_rates"].keys() else {"windows": str(burn)},
            "alerts": [{"name": n, "threshold": t, "fires": f} for n, t, f in alerts], "exhaustion": None if near else str(end)
        }

    def accepts(i):
        frame = pd.DataFrame(i["buckets"])
        now = pd.Timestamp(i["now"]) if "now" in i else pd.Timestamp("2100-01-01T00:00Z")
        return bool(frame["total"][pd.to_datetime(frame["time"]).between(
            now - pd.Timedelta(days=i["window_days"]), now, inclusive="left")].sum()) if "now" in i else bool(frame["total"].sum() and i["window_days"] >= 28)


@oracle(60, "enumeration of all states, portion", 1e-10)
class Availability:
    def block(rng, ids, depth=2):
        if depth == 0 or rng.random() < 0.4:
            name = f"b{len(ids)}"
            ids.append(name)
            if rng.random() < 0.3:
                return {"id": name, "mtbf": float(rng.uniform(10, 1000)), "mttr": float(rng.uniform(0, 50))}
            return {"id": name, "availability": float(pick(rng, [0, 1, 0.5, rng.uniform(0, 1)]))}
        parts = [Availability.block(rng, ids, depth - 1) for _ in range(int(rng.integers(1, 4)))]
        kind = pick(rng, ["series", "parallel", "of"])
        return {"k": int(rng.integers(1, len(parts) + 1)), "of": parts} if kind == "of" else {kind: parts}

    def sample(rng):
        if rng.random() < 0.7:
            ids = []
            block = Availability.block(rng, ids)
            while len(ids) > 9:
                ids = []
                block = Availability.block(rng, ids)
            return {"blocks": block}
        time = lambda: datetime.datetime(2026, 1, 1, tzinfo=UTC) + datetime.timedelta(seconds=int(rng.integers(0, 400000)))
        spans = [sorted([time(), time()]) for _ in range(int(rng.integers(0, 12)))]
        return {"outages": [{"start": stamp(a), "end": stamp(b)} for a, b in spans], "period": {"start": "2026-01-02T00:00:00Z", "end": "2026-01-04T12:00:00Z"}}

    def works(block, up):
        if "id" in block:
            return up[block["id"]]
        if "k" in block:
            return sum(Availability.works(part, up) for part in block["of"]) >= block["k"]
        return (all if "series" in block else any)(Availability.works(part, up) for part in block.get("series", block.get("parallel")))

    def leaves(block):
        return [block
                ] if "id" in block else [leaf for part in block.get("series", block.get("parallel", block.get("of"))) for leaf in Availability.leaves(part)]

    def expect(i, out):
        if "blocks" in i:
            leaves = Availability.leaves(i["blocks"])
            share = {leaf["id"]: leaf["availability"] if "availability" in leaf else leaf["mtbf"] / (leaf["mtbf"] + leaf["mttr"]) for leaf in leaves}
            total, birnbaum = 0.0, dict.fromkeys(share, 0.0)
            for state in itertools.product((False, True), repeat=len(share)):
                up = dict(zip(share, state))
                p = np.prod([share[n] if s else 1 - share[n] for n, s in up.items()])
                total += p * Availability.works(i["blocks"], up)
                for n in share:
                    rest = np.prod([share[m] if s else 1 - share[m] for m, s in up.items() if m != n])
                    birnbaum[n] += rest * Availability.works(i["blocks"], up) * (1 if up[n] else -1)
            frequency = sum(birnbaum[leaf["id"]] / (leaf["mtbf"] + leaf["mttr"]) for leaf in leaves) if all("mtbf" in leaf for leaf in leaves) else 0
            return {
                "availability": total, "downtime_per_year": (1 - total) * 8760, "importance": [{"birnbaum": birnbaum[b["block"]]} for b in out["importance"]],
                "mtbf": total / frequency if frequency > 0 else None, "mttr": (1 - total) / frequency if frequency > 0 else None,
                "nines": -np.log10(1 - total) if 1 - total > 1e-9 else None
            }
        time = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() / 3600
        period = portion.closedopen(time(i["period"]["start"]), time(i["period"]["end"]))
        down = portion.Interval(*[portion.closedopen(time(o["start"]), time(o["end"])) for o in i["outages"]]) & period
        hours, length = sum(part.upper - part.lower for part in down if not part.empty), period.upper - period.lower
        count = len([part for part in down if not part.empty])
        return {
            "availability": 1 - hours / length, "mtbf": (length - hours) / count if count else None, "mttr": hours / count if count else None,
            "downtime_per_year": 8760 * hours / length
        }

    accepts = lambda i: True


RULES = [
    'allow if input.user.role == "admin"',
    "allow if {\n    input.action in data.granted[input.user.role]\n    not input.resource.locked\n}",
    "allow if {\n    count({a | some a in input.approvals; a.ok}) >= data.needed\n    every a in input.approvals { a.by != input.user.name }\n}",
    "allow if {\n    some label, value in input.resource.labels\n    startswith(label, \"team\")\n    value == input.user.team\n"
    "    input.resource.size * 2 <= data.limit\n}",
]
DENIALS = [
    'deny contains msg if {\n    input.resource.size > data.limit\n    msg := sprintf("size %d is over %d", [input.resource.size, data.limit])\n}',
    'deny contains msg if {\n    some a in input.approvals\n    a.by == input.user.name\n    msg := concat(" ", ["own approval of", upper(a.by)])\n}',
    'deny contains "locked" if input.resource.locked',
]
NAMES = ["ada", "ben", "cleo", "dan"]


@oracle(61, "regopy", 1e-9)
class Policy:
    """Policies that are put together at random from rules of access, approval and deployment."""

    def sample(rng):
        def some(rows):
            return [row for row in rows if rng.random() < 0.6]

        text = "\n\n".join(["package main", "import rego.v1", "default allow := false", *some(RULES), *some(DENIALS),
                            "total := sum([a.weight | some a in input.approvals])",
                            "names := sort({a.by | some a in input.approvals})"])
        request = {
            "user": {"name": pick(rng, NAMES), "role": pick(rng, ["admin", "editor", "guest"]), "team": pick(rng, ["red", "blue"])},
            "action": pick(rng, ["read", "write", "delete"]),
            "resource": {"size": int(rng.integers(1, 40)), "locked": bool(rng.random() < 0.3),
                         "labels": {pick(rng, ["team", "team-old", "cost"]): pick(rng, ["red", "blue"])}},
            "approvals": [{"by": pick(rng, NAMES), "ok": bool(rng.random() < 0.7), "weight": int(rng.integers(1, 9))}
                          for _ in range(int(rng.integers(0, 5)))],
        }
        data = {"granted": {"editor": ["read", "write"], "guest": ["read"]}, "needed": int(rng.integers(1, 4)),
                "limit": int(rng.integers(10, 60))}
        query = pick(rng, ["data.main.allow", "data.main.total", "data.main.names"] +
                    (["data.main.deny"] if "deny contains" in text else []))
        return {"policy": text, "query": query, "input": request, "data": data}

    def expect(i, out):
        interpreter = regopy.Interpreter()
        interpreter.add_module("policy", i["policy"])
        interpreter.add_data(i["data"])
        interpreter.set_input(i["input"])
        text = str(interpreter.query(i["query"]))
        if text == "undefined":
            # rego-cpp says so where a default rule applies and a body looks up a key that is absent; OPA gives the default.
            return {"result": False, "allowed": False} if i["query"] == "data.main.allow" else None
        result = json.loads(text)["expressions"][0]
        return {"result": sorted(result) if isinstance(result, list) else result, "allowed": result is True}


if __name__ == "__main__":
    main("platform", ORACLES)
