"""Oracles of the family logistics (q63 to q82): `python engines/oracles/logistics.py [q63 …]`."""
import itertools
import math

import networkx as nx
import numpy as np
import scipy
from geographiclib.geodesic import Geodesic
from scipy.linalg import expm
from scipy.optimize import linear_sum_assignment, linprog, minimize
from scipy.special import erf
from scipy.stats import norm

from jsonlines import main

ORACLES = {}
WGS84 = Geodesic.WGS84
SCIPY = f"scipy {scipy.__version__}"


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


def places(rng, count, prefix, **members):
    made = []
    for k in range(count):
        made.append({"id": f"{prefix}{k}", "lat": float(47 + rng.uniform(0, 0.5)), "lon": float(8 + rng.uniform(0, 0.5)),
                     **{name: make() for name, make in members.items()}})
    return made


def kilometres(a, b):
    return WGS84.Inverse(a["lat"], a["lon"], b["lat"], b["lon"])["s12"] / 1000


@oracle(63, f"{SCIPY} linprog (HiGHS)", 1e-8, 100)
class Shelters:
    def sample(rng):
        value = {"groups": places(rng, 6, "g", people=lambda: int(rng.integers(5, 60))),
                 "shelters": places(rng, 4, "s", capacity=lambda: int(rng.integers(20, 90)))}
        if rng.random() < 0.5:
            value["max_distance"] = float(rng.uniform(10, 40))
        return value

    def expect(i, out):
        g, s, most = i["groups"], i["shelters"], i.get("max_distance", math.inf)
        d = [[kilometres(a, b) for b in s] for a in g]
        cost = [d[a][b] - 1e4 if d[a][b] <= most else 1e6 for a in range(6) for b in range(4)]
        rows = [[1.0 * (k // 4 == a) for k in range(24)] for a in range(6)] + [[1.0 * (k % 4 == b) for k in range(24)] for b in range(4)]
        x = linprog(cost, A_ub=rows, b_ub=[a["people"] for a in g] + [b["capacity"] for b in s], method="highs").x.round(6)
        return {"person_km": sum(x[a * 4 + b] * d[a][b] for a in range(6) for b in range(4))}


@oracle(67, f"{SCIPY} linear_sum_assignment", 1e-9)
class Assignment:
    def sample(rng):
        n, m = (int(k) for k in rng.integers(1, 12, 2))
        return {"cost": rng.integers(-50, 99, (n, m)).tolist(), "maximise": bool(rng.integers(2))}

    def expect(i, out):
        cost = np.array(i["cost"])
        rows, columns = linear_sum_assignment(cost, maximize=i["maximise"])
        return {"total": int(cost[rows, columns].sum())}


@oracle(68, "all choices in Python", 1e-9, 60)
class Location:
    def sample(rng):
        return {"demand": places(rng, 10, "d", weight=lambda: int(rng.integers(1, 20))), "candidates": places(rng, 7, "s"),
                "p": int(rng.integers(1, 5)), "objective": str(rng.choice(["p-median", "p-center", "max-cover"])), "radius": 15.0}

    def expect(i, out):
        d = np.array([[kilometres(a, b) for b in i["candidates"]] for a in i["demand"]])
        w = np.array([a["weight"] for a in i["demand"]])
        value = {"p-median": lambda m: (w * m).sum(), "p-center": lambda m: m.max(), "max-cover": lambda m: -w[m <= 15].sum()}[i["objective"]]
        return {"objective_value": abs(min(value(d[:, list(s)].min(1)) for s in itertools.combinations(range(7), i["p"])))}


@oracle(69, f"birth-death chain and {SCIPY} expm", 1e-6, 60)
class Queue:
    def sample(rng):
        servers = int(rng.integers(1, 8))
        value = {"service_time": float(rng.uniform(2, 9)), "servers": servers, "target_wait": float(rng.uniform(0, 90))}
        value["arrival_rate"] = float(rng.uniform(0.3, 0.9) * servers * 60 / value["service_time"])
        if rng.random() < 0.5:
            value["patience"] = float(rng.uniform(1, 10))
        return value

    def expect(i, out):
        rate, service, n = i["arrival_rate"] / 3600, 1 / (60 * i["service_time"]), i["servers"]
        lost = 1 / (60 * i["patience"]) if "patience" in i else 0.0
        weights, size = [1.0], 1500
        for k in range(1, size):
            weights.append(weights[-1] * rate / (min(k, n) * service + max(0, k - n) * lost))
        p = np.array(weights) / sum(weights)
        queue = sum((k - n) * p[k] for k in range(n, size))
        states = 150
        q = np.zeros((states + 2, states + 2))
        for j in range(states):
            leave = n * service + j * lost
            q[j, j - 1 if j else states] += leave
            q[j, states + 1] += lost
            q[j, j] -= leave + lost
        soon = expm(q * i["target_wait"])[:, states]
        level = p[:n].sum() + sum(p[n + j] * soon[j] for j in range(states))
        return {"wait_probability": p[n:].sum(), "mean_queue": queue, "abandonment": lost * queue / rate, "service_level": level}


@oracle(70, SCIPY, 1e-9)
class Inventory:
    def sample(rng):
        u = lambda a, b: float(rng.uniform(a, b))
        return {"demand_rate": u(1, 200), "demand_sd": u(0, 40), "lead_time": u(0, 20), "lead_time_sd": u(0, 3), "order_cost": u(1, 300),
                "unit_cost": u(1, 50), "holding_rate": u(0.05, 0.5), "service_level": u(0.5, 0.999)}

    def expect(i, out):
        sigma = math.sqrt(i["lead_time"] * i["demand_sd"] ** 2 + (i["demand_rate"] * i["lead_time_sd"]) ** 2)
        z = norm.ppf(i["service_level"])
        eoq = math.sqrt(2 * i["demand_rate"] * 365 * i["order_cost"] / (i["holding_rate"] * i["unit_cost"]))
        fill = 1 - sigma * (norm.pdf(z) - z * norm.sf(z)) / eoq
        return {"eoq": eoq, "safety_stock": z * sigma, "fill_rate": min(max(fill, 0), 1)}


@oracle(74, f"{SCIPY} SLSQP, best of 6 starts", 1e-5, 40)
class SearchEffort:
    def sample(rng):
        poc = rng.dirichlet(np.ones(5))[:4]
        return {"regions": [{"id": str(k), "area": float(rng.uniform(5, 50)), "poc": float(poc[k]), "sweep_width": float(rng.uniform(20, 90)),
                             "speed": float(rng.uniform(2, 6))} for k in range(4)],
                "resource_hours": float(rng.uniform(5, 100)), "model": str(rng.choice(["exponential", "inverse-cube"]))}

    def expect(i, out):
        hours = i["resource_hours"]
        rate = np.array([r["sweep_width"] / 1000 * r["speed"] / r["area"] for r in i["regions"]])
        poc = np.array([r["poc"] for r in i["regions"]])
        pod = (lambda c: 1 - np.exp(-c)) if i["model"] == "exponential" else (lambda c: erf(math.sqrt(math.pi) / 2 * c))
        best = 0.0
        for start in range(6):
            x = np.random.default_rng(start).dirichlet(np.ones(4)) * hours
            found = minimize(lambda h: -(poc * pod(rate * h)).sum(), x, bounds=[(0, hours)] * 4,
                             constraints={"type": "eq", "fun": lambda h: h.sum() - hours}, options={"ftol": 1e-14, "maxiter": 1000})
            best = max(best, -found.fun)
        return {"total_pos": best}


@oracle(77, f"networkx {nx.__version__}", 1e-9)
class CriticalPath:
    def sample(rng):
        tasks = []
        for k in range(12):
            low = float(rng.integers(1, 9))
            likely = low + float(rng.integers(0, 9))
            tasks.append({"id": f"t{k}", "optimistic": low, "likely": likely, "pessimistic": likely + float(rng.integers(0, 9)),
                          "after": [f"t{j}" for j in range(k) if rng.random() < 0.25]})
        return {"tasks": tasks}

    def expect(i, out):
        g = nx.DiGraph()
        for t in i["tasks"]:
            mean = (t["optimistic"] + 4 * t["likely"] + t["pessimistic"]) / 6
            g.add_edge(t["id"], t["id"] + "'", weight=mean)
            for before in t["after"]:
                g.add_edge(before + "'", t["id"], weight=0)
        return {"duration": nx.dag_longest_path_length(g)}


@oracle(82, "TOPSIS in numpy", 1e-9)
class Ranking:
    def sample(rng):
        return {"options": [{"id": f"o{k}", "values": {c: float(rng.uniform(1, 100)) for c in "abc"}} for k in range(6)],
                "criteria": [{"id": c, "weight": float(rng.uniform(0.1, 1)), "benefit": bool(rng.integers(2))} for c in "abc"]}

    def expect(i, out):
        x = np.array([[o["values"][c] for c in "abc"] for o in i["options"]])
        w = np.array([c["weight"] for c in i["criteria"]])
        good = np.array([c["benefit"] for c in i["criteria"]])
        x = x / np.sqrt((x ** 2).sum(0)) * w / w.sum()
        up = np.sqrt(((x - np.where(good, x.max(0), x.min(0))) ** 2).sum(1))
        down = np.sqrt(((x - np.where(good, x.min(0), x.max(0))) ** 2).sum(1))
        score = down / (up + down)
        return {"ranking": [{"id": f"o{k}", "score": score[k]} for k in np.argsort(-score)]}


if __name__ == "__main__":
    main("logistics", ORACLES)
