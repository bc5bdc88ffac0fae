"""Oracles of the family finance (q122 to q130): `python engines/oracles/finance.py [q122 …]`."""
import csv
import decimal
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy_financial as npf
import scipy.stats as st
from scipy.optimize import linear_sum_assignment
from stdnum import iban, isin, lei, luhn
from stdnum.us import rtn

from jsonlines import main

decimal.getcontext().prec = 60
ORACLES = {}
DATA = Path(__file__).parent.parent / "finance" / "data"


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


@oracle(122, "numpy on the table", 1e-9)
class FloodLoss:
    CURVES = {(r[0], r[1]): [float(x) for x in r[3:]] for r in list(csv.reader((DATA / "flood_curves.csv").open()))[1:]}
    KNOTS = [0, 0.5, 1, 1.5, 2, 3, 4, 5, 6]

    def sample(rng):
        region = str(rng.choice(["europe", "asia", "north-america"]))
        kinds = sorted(c for c, r in FloodLoss.CURVES if r == region)
        return {"region": region, "assets": [
            {"id": str(k), "class": str(rng.choice(kinds)), "value": float(rng.uniform(1e3, 1e6)),
             "depths": {str(p): float(np.round(rng.uniform(-0.5, 8), 2)) for p in (10, 50, 100, 500)}} for k in range(3)]}

    def expect(i, out):
        assets, total = [], 0.0
        for a in i["assets"]:
            curve = FloodLoss.CURVES[a["class"], i["region"]]
            damage = {p: a["value"] * np.interp(d, FloodLoss.KNOTS, curve) if d > 0 else 0.0 for p, d in a["depths"].items()}
            points = sorted((1 / float(p), v) for p, v in damage.items())
            x, y = zip(*points)
            ead = np.trapezoid(y, x) + x[0] * y[0]
            total += ead
            assets.append({"damage": damage, "ead": ead})
        return {"assets": assets, "ead": total}


@oracle(123, "numpy-financial", 1e-7)
class Appraisal:
    def sample(rng):
        n = int(rng.integers(3, 12))
        return {"costs": [float(rng.uniform(500, 2000))] + [float(x) for x in rng.uniform(0, 60, n - 1)],
                "benefits": [0.0] + [float(x) for x in rng.uniform(100, 700, n - 1)],
                "discount_rate": float(rng.uniform(0.01, 0.15)), "finance_rate": 0.07, "reinvest_rate": 0.04}

    def expect(i, out):
        c, b = np.array(i["costs"]), np.array(i["benefits"])
        rate = i["discount_rate"]
        return {"npv": npf.npv(rate, b - c), "irr": npf.irr(b - c), "mirr": npf.mirr(b - c, 0.07, 0.04),
                "bcr": npf.npv(rate, b) / npf.npv(rate, c), "irr_unique": True}


@oracle(124, "numpy", 1e-8)
class LossExceedance:
    def sample(rng):
        n = int(rng.integers(2, 30))
        return {"events": [{"id": str(k), "rate": float(rng.uniform(1e-4, 0.2)), "loss": float(rng.uniform(1, 1000))}
                           for k in range(n)], "deductible": float(rng.uniform(0, 100)),
                "limit": float(rng.uniform(200, 900)), "share": 0.8, "years": 0}

    def expect(i, out):
        rate = np.array([e["rate"] for e in i["events"]])
        net = np.clip(np.array([e["loss"] for e in i["events"]]) - i["deductible"], 0, i["limit"]) * i["share"]
        aal = (rate * net).sum()
        oep = []
        for period in (10, 50, 100, 250, 500):
            levels = [x for x in np.unique(np.r_[0.0, net]) if 1 - np.exp(-rate[net > x].sum()) <= 1 / period * (1 + 1e-12)]
            oep.append({"period": period, "loss": min(levels)})
        return {"aal": aal, "sd": np.sqrt((rate * net**2).sum()), "oep": oep}


@oracle(125, "definitions", 1e-9)
class EarnedValue:
    def sample(rng):
        return {"tasks": [{"id": str(k), "budget": float(rng.uniform(100, 1000)), "planned_percent": float(rng.uniform(10, 100)),
                           "complete_percent": float(rng.uniform(5, 80)), "actual": float(rng.uniform(10, 90))}
                          for k in range(4)], "period_elapsed": 5.0, "planned_duration": 12.0}

    def expect(i, out):
        t = i["tasks"]
        bac = sum(x["budget"] for x in t)
        pv = sum(x["budget"] * x["planned_percent"] for x in t) / 100
        ev = sum(x["budget"] * x["complete_percent"] for x in t) / 100
        ac = sum(x["actual"] for x in t)
        es = 5 * ev / pv if ev <= pv else 5 + 7 * (ev - pv) / (bac - pv)
        return {"pv": pv, "ev": ev, "ac": ac, "cpi": ev / ac, "spi": ev / pv, "eac": bac / (ev / ac), "etc": bac * ac / ev - ac,
                "vac": bac - bac * ac / ev, "tcpi": (bac - ev) / (bac - ac), "earned_schedule": es}


@oracle(126, "decimal", 0)
class Currency:
    UNITS = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3, "CLF": 4, "GBP": 2}

    def sample(rng):
        a, b = (str(x) for x in rng.choice(list(Currency.UNITS), 2, replace=False))
        rates = {c: str(np.round(rng.uniform(0.1, 200), int(rng.integers(2, 6)))) for c in Currency.UNITS if c != "USD"}
        return {"amount": f"{rng.uniform(-1e6, 1e7):.{int(rng.integers(0, 4))}f}", "from": a, "to": b, "rates": rates,
                "rounding": str(rng.choice(["half-even", "half-up", "down"])), "split": int(rng.integers(1, 8))}

    def expect(i, out):
        rate = lambda c: Decimal(1) if c == "USD" else Decimal(i["rates"][c])
        digits = Currency.UNITS[i["to"]]
        mode = {"half-even": decimal.ROUND_HALF_EVEN, "half-up": decimal.ROUND_HALF_UP, "down": decimal.ROUND_DOWN}
        step = Decimal(1).scaleb(-digits)
        amount = (Decimal(i["amount"]) * rate(i["to"]) / rate(i["from"])).quantize(step, mode[i["rounding"]])
        each, rest = divmod(abs(int(amount / step)), i["split"])
        sign = -1 if amount < 0 else 1
        parts = [str((sign * (each + (k < rest)) * step).quantize(step)) for k in range(i["split"])]
        clean = lambda text: text.lstrip("-") if Decimal(text) == 0 else text
        return {"amount": str(amount) if amount else None, "minor_units": digits,
                "parts": [clean(p) if Decimal(p) else None for p in parts]}


@oracle(127, "python-stdnum", 0)
class Identifiers:
    IBANS = ["GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606", "NO9386011117947",
             "CH9300762011623852957", "NL91ABNA0417164300", "BR1800360305000010009795493C1", "SA0380000000608010167519"]

    def sample(rng):
        kind = str(rng.choice(["iban", "pan", "isin", "lei", "aba"]))
        digit = lambda n: "".join(str(d) for d in rng.integers(0, 10, n))
        if kind == "iban":
            text = str(rng.choice(Identifiers.IBANS))
        elif kind == "pan":
            text = "4" + digit(14)
            text += luhn.calc_check_digit(text)
        elif kind == "isin":
            text = "US" + digit(9)
            text += isin.calc_check_digit(text)
        elif kind == "lei":
            text = "5493" + "".join(rng.choice(list("ABCDEF0123456789"), 14))
            from stdnum.iso7064 import mod_97_10
            text += mod_97_10.calc_check_digits(text)
        else:
            text = "0" + str(rng.integers(1, 10)) + digit(6)
            text += rtn.calc_check_digit(text)
        if rng.random() < 0.5:
            at = int(rng.integers(4, len(text)))
            text = text[:at] + str(rng.integers(0, 10)) + text[at + 1:]
        return {"values": [text], "kind": kind}

    def expect(i, out):
        check = {"iban": lambda t: iban.is_valid(t, check_country=False), "pan": luhn.is_valid, "isin": isin.is_valid,
                 "lei": lei.is_valid, "aba": rtn.is_valid}[i["kind"]]
        return {"results": [{"valid": bool(check(i["values"][0])), "kind": i["kind"]}]}


@oracle(128, "scipy linear_sum_assignment", 1e-6)
class Reconcile:
    def sample(rng):
        n = int(rng.integers(3, 25))
        day = lambda d: str(np.datetime64("2026-03-01") + int(d))
        left = [{"id": f"l{k}", "date": day(rng.integers(0, 20)), "amount": f"{rng.choice([10, 20, 35]):.2f}"} for k in range(n)]
        right = [{"id": f"r{k}", "date": day(rng.integers(0, 20)), "amount": f"{rng.choice([10, 20, 35]):.2f}"} for k in range(n)]
        return {"left": left, "right": right, "days": 3, "group_limit": 1}

    def expect(i, out):
        day = lambda e: int(np.datetime64(e["date"]).astype("datetime64[D]").astype(int))
        cost = np.full((len(i["left"]), len(i["right"])), 1e3)
        for a, left in enumerate(i["left"]):
            for b, right in enumerate(i["right"]):
                gap = abs(day(left) - day(right))
                if left["amount"] == right["amount"] and gap <= 3:
                    cost[a, b] = gap / 4
        rows, columns = linear_sum_assignment(cost)
        chosen = [cost[a, b] for a, b in zip(rows, columns) if cost[a, b] < 1e3]
        mine = sum(1 - m["score"] for m in out["matched"])
        # As many pairs, and as good: which of equal ones does not matter.
        same = len(chosen) == len(out["matched"]) and abs(sum(chosen) - mine) < 1e-9
        return {"matched": None if same else [{"score": -1}] * (len(chosen) + 1)}


@oracle(129, "scipy", 1e-9)
class Benford:
    def sample(rng):
        x = np.round(rng.lognormal(6, 2, int(rng.integers(50, 400))), 2) + 0.01
        return {"amounts": [float(v) for v in np.round(x, 2)], "limits": [1000.0]}

    def expect(i, out):
        x = np.array(i["amounts"])
        first = np.array([int(f"{v:.12e}"[0]) for v in x])
        second = np.array([int(f"{v:.12e}"[2]) for v in x])
        n, d = len(x), np.arange(1, 10)
        e1 = np.log10(1 + 1 / d)
        o1 = np.array([(first == k).mean() for k in d])
        e2 = np.array([sum(np.log10(1 + 1 / (10 * a + b)) for a in d) for b in range(10)])
        o2 = np.array([(second == k).mean() for k in range(10)])
        chi = st.chisquare(o1 * n, e1 * n)
        upper, lower = ((x >= 950) & (x < 1000)).sum(), ((x >= 900) & (x < 950)).sum()
        return {"first_digit": {"chi_square": chi.statistic, "p": chi.pvalue, "mad": np.abs(o1 - e1).mean()},
                "digits": [{"observed": o, "expected": e} for o, e in zip(np.r_[o1, o2], np.r_[e1, e2])],
                "round_share": (x % 100 == 0).mean(),
                "near_limit": [{"count": upper, "p": st.binom.sf(upper - 1, upper + lower, 0.5)}]}


@oracle(130, "definitions", 1e-9)
class Carbon:
    FACTORS = {(r[0], r[1]): float(r[2]) for r in list(csv.reader((DATA / "emission_factors.csv").open()))[1:]}

    def sample(rng):
        amount = lambda: float(rng.uniform(1, 1000))
        return {"items": [{"kind": "electricity", "amount": amount(), "unit": "kWh"},
                          {"kind": "compute", "amount": amount(), "unit": "MWh", "pue": 1.4},
                          {"kind": "diesel", "amount": amount(), "unit": "L"}, {"kind": "gas", "amount": amount(), "unit": "m3"}],
                "grid_intensity": float(rng.uniform(20, 900)), "embodied": amount(), "functional_units": 100.0}

    def expect(i, out):
        a = [x["amount"] for x in i["items"]]
        g = i["grid_intensity"] / 1000
        kg = [a[0] * g, a[1] * 1000 * 1.4 * g, a[2] * Carbon.FACTORS["diesel", "l"], a[3] * Carbon.FACTORS["gas", "m3"]]
        total = sum(kg) + i["embodied"]
        return {"items": [{"kg": v} for v in kg], "total": total, "sci": total * 10}


if __name__ == "__main__":
    main("finance", ORACLES)
