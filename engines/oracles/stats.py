"""Oracles of the family stats (q83 to q104): `python engines/oracles/stats.py [q83 …]`."""
import warnings

import numpy as np
import pandas as pd
import pymannkendall
import ruptures
import scipy.signal
import scipy.stats as st
import statsmodels.api as sm
from lifelines import KaplanMeierFitter
from lifelines.statistics import multivariate_logrank_test
from scikit_posthocs import outliers_gesd
from sklearn import cluster, decomposition, metrics, preprocessing
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.power import NormalIndPower, TTestIndPower, TTestPower
from statsmodels.tsa.forecasting.theta import ThetaModel
from statsmodels.tsa.holtwinters import ExponentialSmoothing, SimpleExpSmoothing
from statsmodels.tsa.seasonal import STL
from statsmodels.tsa.stattools import acf, adfuller, kpss, pacf
from statsmodels.stats.diagnostic import acorr_ljungbox
from uncertainties import ufloat, umath

from jsonlines import main

warnings.filterwarnings("ignore")
ORACLES = {}


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


def values(rng, low=5, high=60, ties=0.5):
    """Numbers of several shapes; with `ties` they are often rounded."""
    n = int(rng.integers(low, high))
    draw = [rng.normal, rng.exponential, rng.uniform, rng.standard_cauchy][rng.integers(4)]
    x = draw(size=n) * 10 ** rng.uniform(-2, 4) + rng.normal() * 100
    return np.round(x, 1) if rng.random() < ties else x


def fixed(x):
    return [float(v) for v in x]


@oracle(83, "scipy, numpy", 1e-8)
class Describe:
    def sample(rng):
        x = fixed(values(rng))
        return {"values": x, "weights": fixed(rng.integers(1, 5, len(x)))} if rng.random() < 0.3 else {"values": x}

    def expect(i, out):
        x = np.array(i["values"])
        if "weights" in i:
            w = np.array(i["weights"])
            mean = np.average(x, weights=w)
            size = w.sum() ** 2 / (w ** 2).sum()
            m2 = np.average((x - mean) ** 2, weights=w)
            order = np.argsort(x, kind="stable")
            middle = np.cumsum(w[order]) - w[order] / 2
            place = (middle - middle[0]) / (middle[-1] - middle[0])
            return {"mean": mean, "sd": np.sqrt(m2 * size / (size - 1)),
                    "skewness": np.average((x - mean) ** 3, weights=w) / m2 ** 1.5 if m2 > 0 else None,
                    "quantiles": {str(p): np.interp(p, place, x[order]) for p in (0.25, 0.5, 0.75)}}
        q = np.quantile(x, [0.25, 0.75])
        fence = 1.5 * (q[1] - q[0])
        edges = np.histogram_bin_edges(x, len(out["histogram"]))
        low, high = st.t.interval(0.95, len(x) - 1, x.mean(), st.sem(x))
        varies = np.ptp(x) > 0
        return {"n": len(x), "mean": x.mean(), "sd": x.std(ddof=1),
                "skewness": st.skew(x, bias=False) if varies else None,
                "kurtosis": st.kurtosis(x, bias=False) if varies else None, "mad": st.median_abs_deviation(x), "ci": [low, high],
                "quantiles": {str(p): np.quantile(x, p) for p in (0.05, 0.25, 0.5, 0.75, 0.95)},
                "outliers": [v for v in x if v < q[0] - fence or v > q[1] + fence],
                "histogram": [{"low": a, "high": b, "count": c}
                              for a, b, c in zip(edges, edges[1:], np.histogram(x, len(out["histogram"]))[0])]}


@oracle(84, "scipy", 1e-6)
class CompareGroups:
    def sample(rng):
        k = int(rng.integers(2, 5))
        test = str(rng.choice(["t", "welch", "mann-whitney", "wilcoxon", "anova", "kruskal", "auto"]))
        k = 2 if test in ("t", "welch", "mann-whitney", "wilcoxon") else k
        paired = test == "wilcoxon" or (test == "t" and rng.random() < 0.5)
        n = int(rng.integers(3, 30))
        size = lambda: n if paired else int(rng.integers(3, 40))
        decimals = int(rng.integers(0, 4))
        groups = [fixed(np.round(rng.normal(rng.normal(), 1 + rng.random(), size()), decimals)) for _ in range(k)]
        return {"groups": groups, "test": test, "paired": paired}

    def expect(i, out):
        g = [np.array(x) for x in i["groups"]]
        test = out["test"]
        n = [len(x) for x in g]
        if test == "paired-t":
            r = st.ttest_rel(*g)
            return {"statistic": r.statistic, "p_value": r.pvalue, "df": [n[0] - 1]}
        if test in ("t", "welch"):
            r = st.ttest_ind(*g, equal_var=test == "t")
            return {"statistic": r.statistic, "p_value": r.pvalue, "df": [r.df],
                    "normality": [st.shapiro(x).pvalue if np.ptp(x) > 0 else None for x in g]}
        if test == "mann-whitney":
            ties = len(np.unique(np.concatenate(g))) < sum(n)
            r = st.mannwhitneyu(*g, method="exact" if not ties and max(n) <= 25 else "asymptotic")
            return {"statistic": r.statistic, "p_value": r.pvalue}
        if test == "wilcoxon":
            d = g[0] - g[1]
            d = d[d != 0]
            ties = len(np.unique(np.abs(d))) < len(d)
            exact = not ties and len(d) <= 25
            r = st.wilcoxon(d, method="exact" if exact else "asymptotic", correction=not exact)
            rank = st.rankdata(np.abs(d))
            return {"statistic": rank[d > 0].sum(), "p_value": r.pvalue}
        if test == "anova":
            r = st.f_oneway(*g)
            return {"statistic": r.statistic, "p_value": r.pvalue, "df": [len(g) - 1, sum(n) - len(g)]}
        r = st.kruskal(*g)
        p = [st.mannwhitneyu(g[a], g[b], method="exact" if len(np.unique(np.r_[g[a], g[b]])) == n[a] + n[b]
                             and max(n[a], n[b]) <= 25 else "asymptotic").pvalue
             for a in range(len(g)) for b in range(a + 1, len(g))]
        adjusted = multipletests(p, method="holm")[1] if len(g) > 2 else [r.pvalue]
        return {"statistic": r.statistic, "p_value": r.pvalue, "pairwise": [{"p": x} for x in adjusted]}


@oracle(85, "scipy", 1e-8)
class Contingency:
    def sample(rng):
        shape = (2, 2) if rng.random() < 0.6 else tuple(rng.integers(2, 6, 2))
        top = int(rng.choice([5, 30, 1000]))
        return {"table": [[int(c) for c in row] for row in rng.integers(0, top, shape) + (rng.random() < 0.5)],
                "yates": bool(rng.random() < 0.5)}

    def expect(i, out):
        t = np.array(i["table"])
        r = st.chi2_contingency(t, correction=i["yates"])
        e = {"chi_square": r.statistic, "df": r.dof, "p_value": r.pvalue, "expected": r.expected_freq,
             "cramers_v": st.contingency.association(t, method="cramer")}
        if t.shape == (2, 2):
            e["fisher_p"] = st.fisher_exact(t).pvalue
            if (t > 0).all():
                odds = st.contingency.odds_ratio(t, kind="sample")
                ci = odds.confidence_interval(0.95)
                risk = st.contingency.relative_risk(t[0, 0], t[0].sum(), t[1, 0], t[1].sum())
                ri = risk.confidence_interval(0.95)
                e["odds_ratio"] = {"value": odds.statistic, "low": ci.low, "high": ci.high}
                e["relative_risk"] = {"value": risk.relative_risk, "low": ri.low, "high": ri.high}
        return e


@oracle(86, "scipy, statsmodels", 1e-8)
class Correlation:
    def sample(rng):
        n, k = int(rng.integers(4, 60)), int(rng.integers(2, 5))
        base = rng.normal(size=n)
        return {"columns": {f"c{j}": fixed(np.round(base * rng.normal() + rng.normal(size=n), int(rng.integers(0, 4))))
                            for j in range(k)},
                "method": str(rng.choice(["pearson", "spearman", "kendall"])),
                "adjust": str(rng.choice(["none", "holm", "bh"]))}

    def expect(i, out):
        c = i["columns"]
        pairs = []
        names = sorted(c)
        for at, a in enumerate(names):
            for b in names[at + 1:]:
                if np.ptp(c[a]) == 0 or np.ptp(c[b]) == 0:
                    continue
                f = {"pearson": st.pearsonr, "spearman": st.spearmanr,
                     "kendall": lambda x, y: st.kendalltau(x, y, method="asymptotic")}[i["method"]]
                r = f(c[a], c[b])
                pairs.append({"a": a, "b": b, "r": r.statistic, "p": r.pvalue})
        if pairs and i["adjust"] != "none":
            adjusted = multipletests([p["p"] for p in pairs], method={"holm": "holm", "bh": "fdr_bh"}[i["adjust"]])[1]
            pairs = [dict(p, p_adjusted=q) for p, q in zip(pairs, adjusted)]
        return {"pairs": pairs}


@oracle(87, "statsmodels", 1e-6)
class Linear:
    def sample(rng):
        n, k = int(rng.integers(12, 80)), int(rng.integers(1, 5))
        x = {f"x{j}": fixed(rng.normal(size=n) * 10 ** rng.uniform(-2, 3) + 100 * rng.normal()) for j in range(k)}
        y = sum(np.array(c) * rng.normal() for c in x.values()) + rng.normal(size=n) * 10
        i = {"y": fixed(y), "x": x, "robust": bool(rng.random() < 0.3), "intercept": bool(rng.random() < 0.8)}
        if rng.random() < 0.3:
            i["weights"] = fixed(rng.uniform(0.1, 3, n))
        i["predict"] = [{name: float(np.mean(c) + rng.normal()) for name, c in x.items()}]
        return i

    def expect(i, out):
        names = sorted(i["x"])
        x = np.column_stack([i["x"][c] for c in names])
        if i["intercept"]:
            x = sm.add_constant(x, has_constant="add")
        w = i.get("weights")
        model = sm.WLS(i["y"], x, w) if w else sm.OLS(i["y"], x)
        plain = model.fit()
        r = model.fit(cov_type="HC3", use_t=True) if i["robust"] else plain
        ci = r.conf_int()
        row = np.array([i["predict"][0][c] for c in names])
        row = np.r_[1.0, row] if i["intercept"] else row
        frame = plain.get_prediction(row[None, :]).summary_frame(alpha=0.05)
        vif = [None] * x.shape[1] if w or not i["intercept"] else [
            variance_inflation_factor(x, j) if j else None for j in range(x.shape[1])]
        e = {"coefficients": [{"estimate": r.params[j], "se": r.bse[j], "t": r.tvalues[j], "p": r.pvalues[j],
                               "low": ci[j][0], "high": ci[j][1], "vif": vif[j]} for j in range(x.shape[1])],
             "r2": plain.rsquared, "adj_r2": plain.rsquared_adj, "sigma": np.sqrt(plain.scale), "aic": plain.aic,
             "f": {"value": float(np.squeeze(r.fvalue)), "p": float(np.squeeze(r.f_pvalue))},
             "predictions": [{"fit": frame["mean"].iloc[0], "low": frame["obs_ci_lower"].iloc[0],
                              "high": frame["obs_ci_upper"].iloc[0]}]}
        if not i["intercept"]:
            e["f"] = e["r2"] = e["adj_r2"] = None
            # statsmodels takes a constant that columns imply for an intercept.
        e["durbin_watson"] = sm.stats.durbin_watson(np.array(i["y"]) - x @ plain.params)
        return e


@oracle(88, "statsmodels", 1e-5)
class Logistic:
    def sample(rng):
        n, k = int(rng.integers(40, 120)), int(rng.integers(1, 4))
        x = {f"x{j}": fixed(rng.normal(size=n)) for j in range(k)}
        eta = sum(np.array(c) * rng.normal() * 0.6 for c in x.values()) + 0.3 * rng.normal()
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
        y[0], y[1] = 0, 1
        return {"y": [int(v) for v in y], "x": x, "predict": [{name: float(rng.normal()) for name in x}]}

    def expect(i, out):
        names = sorted(i["x"])
        x = sm.add_constant(np.column_stack([i["x"][c] for c in names]), has_constant="add")
        r = sm.Logit(i["y"], x).fit(disp=0, tol=1e-12, maxiter=200)
        row = np.r_[1.0, [i["predict"][0][c] for c in names]]
        return {"coefficients": [{"estimate": r.params[j], "se": r.bse[j], "z": r.tvalues[j], "p": r.pvalues[j],
                                  "odds_ratio": np.exp(r.params[j])} for j in range(x.shape[1])],
                "log_likelihood": r.llf, "mcfadden_r2": r.prsquared,
                "auc": metrics.roc_auc_score(i["y"], r.predict(x)), "predictions": [r.predict(row[None, :])[0]]}


@oracle(89, "scipy", 5e-4, 100)
class Distributions:
    def sample(rng):
        n = int(rng.integers(10, 80))
        draw = [lambda: rng.gamma(rng.uniform(0.5, 5), size=n), lambda: rng.weibull(rng.uniform(0.7, 4), n),
                lambda: rng.lognormal(0, rng.uniform(0.2, 1), n), lambda: rng.exponential(size=n)][rng.integers(4)]
        return {"values": fixed(draw() * 10 ** rng.uniform(-1, 3) + 1e-9), "probabilities": [0.1, 0.5, 0.99]}

    def expect(i, out):
        x = np.array(i["values"])
        kinds = {"normal": (st.norm, st.norm.fit(x)), "lognormal": (st.lognorm, st.lognorm.fit(x, floc=0)),
                 "exponential": (st.expon, (0, x.mean())), "gamma": (st.gamma, st.gamma.fit(x, floc=0)),
                 "weibull": (st.weibull_min, st.weibull_min.fit(x, floc=0)), "gumbel": (st.gumbel_r, st.gumbel_r.fit(x))}
        fits = []
        for fit in out["fits"]:
            d, p = kinds[fit["name"]]
            d = d(*p)
            ks = st.kstest(x, d.cdf)
            fits.append({"log_likelihood": d.logpdf(x).sum(), "ks": ks.statistic,
                         "quantiles": d.ppf(i["probabilities"]),
                         "ks_p": st.kstwobign.sf(np.sqrt(len(x)) * ks.statistic)})
        return {"fits": fits}


@oracle(90, "statsmodels", 1e-6)
class SampleSize:
    def sample(rng):
        design = str(rng.choice(["two-means", "paired-means", "two-proportions", "correlation", "survey"]))
        i = {"design": design, "alpha": float(rng.choice([0.01, 0.05, 0.1])), "power": float(rng.uniform(0.6, 0.97))}
        if design == "survey":
            i.update(margin=float(rng.uniform(0.01, 0.2)), population=int(rng.integers(100, 100000)))
        elif rng.random() < 0.5:
            i.update(effect=float(rng.uniform(0.15, 0.9)), n=int(rng.integers(5, 200)))
        else:
            i.update(effect=float(rng.uniform(0.15, 0.9)))
        if design in ("two-means", "two-proportions"):
            i["ratio"] = float(rng.choice([1, 1, 2, 0.5]))
        return i

    def expect(i, out):
        a, power, effect = i["alpha"], i["power"], i.get("effect")
        if i["design"] == "survey":
            z = st.norm.ppf(1 - a / 2)
            n0 = z * z * 0.25 / i["margin"] ** 2
            return {"n_total": int(np.ceil(n0 / (1 + (n0 - 1) / i["population"]) - 1e-9))}
        solver, extra = {"two-means": (TTestIndPower(), {"ratio": i.get("ratio", 1)}), "paired-means": (TTestPower(), {}),
                         "two-proportions": (NormalIndPower(), {"ratio": i.get("ratio", 1)}),
                         "correlation": (None, {})}[i["design"]]
        if solver is None:
            z = st.norm.ppf(1 - a / 2)
            reach = lambda n: st.norm.sf(z - np.arctanh(effect) * np.sqrt(n - 3)) + st.norm.cdf(
                -z - np.arctanh(effect) * np.sqrt(n - 3))
            return {"power": reach(i.get("n", out["n_total"]))}
        name = "nobs" if i["design"] == "paired-means" else "nobs1"
        if "n" in i:
            return {"power": solver.power(effect, i["n"], a, **extra)}
        n = solver.solve_power(effect_size=effect, alpha=a, power=power, **{name: None}, **extra)
        return {"n_per_group": [int(np.ceil(np.squeeze(n) - 1e-7)) if np.squeeze(n) > 2 else None]}


@oracle(91, "scikit-learn", 1e-9)
class ModelMetrics:
    def sample(rng):
        n = int(rng.integers(8, 80))
        if rng.random() < 0.3:
            t = rng.normal(size=n) * 10
            return {"task": "regression", "truth": fixed(t), "predicted": fixed(t + rng.normal(size=n))}
        k = 2 if rng.random() < 0.6 else int(rng.integers(3, 6))
        t = rng.integers(0, k, n)
        p = np.where(rng.random(n) < 0.7, t, rng.integers(0, k, n))
        i = {"task": "classification", "truth": [int(v) for v in t], "predicted": [int(v) for v in p]}
        if k == 2 and 0 < t.sum() < n:
            i["scores"] = fixed(np.round(np.clip(0.5 * t + 0.5 * rng.random(n), 0, 1), 2))
        return i

    def expect(i, out):
        t = np.array(i["truth"])
        p = np.array(i["predicted"])
        if i["task"] == "regression":
            return {"metrics": {"mae": metrics.mean_absolute_error(t, p), "mse": metrics.mean_squared_error(t, p),
                                "r2": metrics.r2_score(t, p), "max_error": metrics.max_error(t, p),
                                "median_absolute_error": metrics.median_absolute_error(t, p),
                                "explained_variance": metrics.explained_variance_score(t, p),
                                "mape": metrics.mean_absolute_percentage_error(t, p)}}
        kinds = np.unique(np.r_[t, p])
        average = "binary" if len(kinds) == 2 else "macro"
        extra = dict(average=average, zero_division=0)
        if average == "binary":
            extra["pos_label"] = kinds.max()
        e = {"metrics": {"accuracy": metrics.accuracy_score(t, p),
                         "balanced_accuracy": metrics.balanced_accuracy_score(t, p),
                         "precision": metrics.precision_score(t, p, **extra), "recall": metrics.recall_score(t, p, **extra),
                         "f1": metrics.f1_score(t, p, **extra), "f1_macro": metrics.f1_score(t, p, average="macro"),
                         "f1_weighted": metrics.f1_score(t, p, average="weighted"),
                         "mcc": metrics.matthews_corrcoef(t, p)},
             "kappa": metrics.cohen_kappa_score(t, p)}
        if "scores" in i and len(kinds) == 2:
            s = np.array(i["scores"])
            e["metrics"].update(roc_auc=metrics.roc_auc_score(t, s), average_precision=metrics.average_precision_score(t, s),
                                brier=metrics.brier_score_loss(t, s), log_loss=metrics.log_loss(t, s))
            x, y, _ = metrics.roc_curve(t, s, drop_intermediate=False)
            e["roc"] = np.column_stack([x, y])
        return e


def seasonal(rng, period, n):
    t = np.arange(n)
    return 50 + 0.1 * t * rng.normal() + 5 * np.sin(2 * np.pi * t / period + rng.uniform(0, 6)) + rng.normal(size=n)


# Robust weights jump at thresholds: the package differs from itself by 5e-5 where the mean is subtracted first.
@oracle(92, "statsmodels", 1e-4)
class Decompose:
    def sample(rng):
        period = int(rng.integers(2, 24))
        n = int(rng.integers(2 * period + 1, 8 * period + 20))
        return {"values": fixed(seasonal(rng, period, n)), "period": period, "robust": bool(rng.random() < 0.4)}

    def expect(i, out):
        x = np.array(i["values"])
        r = STL(x, period=i["period"], seasonal=7, robust=i["robust"]).fit()
        return {"trend": r.trend, "seasonal": r.seasonal, "remainder": r.resid}


@oracle(93, "statsmodels", 5e-3, 60)
class Forecast:
    def sample(rng):
        period = int(rng.choice([1, 4, 7]))
        method = str(rng.choice(["ses", "theta", "holt", "seasonal-naive"]))
        n = int(rng.integers(max(30, 5 * period), 90))
        x = seasonal(rng, period, n) if method == "theta" and period > 1 else 50 + np.cumsum(rng.normal(0.1, 1, n))
        return {"values": fixed(x), "horizon": 6, "period": period, "method": method}

    def expect(i, out):
        x = np.array(i["values"])
        if i["method"] == "ses":
            r = SimpleExpSmoothing(x, initialization_method="estimated").fit()
            # The optimisers differ where the sum of squares is flat: ours must not be worse.
            return {"parameters": {"sse": min(out["parameters"]["sse"], r.sse)}}
        if i["method"] == "holt":
            r = ExponentialSmoothing(x, trend="add", initialization_method="estimated").fit()
            return {"parameters": {"sse": min(out["parameters"]["sse"], r.sse)}}
        if i["method"] == "theta":
            m = ThetaModel(x, period=max(i["period"], 2), deseasonalize=i["period"] > 1, use_test=True,
                           method="multiplicative" if (x > 0).all() else "additive").fit()
            return {"forecast": [{"mean": v} for v in m.forecast(6, theta=2)]}
        return {"forecast": [{"mean": x[len(x) - i["period"] + h % i["period"]]} for h in range(6)]}


@oracle(94, "scikit-posthocs", 1e-9)
class Anomaly:
    def sample(rng):
        x = rng.normal(size=int(rng.integers(20, 120)))
        for at in rng.choice(len(x), int(rng.integers(0, 4)), replace=False):
            x[at] += rng.choice([-1, 1]) * rng.uniform(3, 9)
        return {"values": fixed(x), "method": "classical", "max_share": 0.15, "alpha": 0.05}

    def expect(i, out):
        x = np.array(i["values"])
        most = max(1, int(len(x) * 0.15 + 1e-9))
        found = np.flatnonzero(outliers_gesd(x, outliers=most, hypo=True, alpha=0.05))
        got = sorted(a["index"] for a in out["anomalies"])
        return {"anomalies": [{"value": x[a["index"]]} for a in out["anomalies"]]} if got == sorted(found) else {
            "anomalies": [{"index": int(a)} for a in found] + [{"index": -1}]}


@oracle(95, "ruptures", 1e-6, 100)
class ChangePoint:
    def sample(rng):
        parts = [rng.normal(rng.normal() * 4, 1, int(rng.integers(8, 40))) for _ in range(int(rng.integers(1, 5)))]
        return {"values": fixed(np.concatenate(parts)), "penalty": float(rng.uniform(2, 20)),
                "min_size": int(rng.integers(1, 6))}

    def expect(i, out):
        x = np.array(i["values"])
        cost = ruptures.costs.CostL2().fit(x[:, None])
        cost.min_size = 1
        # Every segmentation, by dynamic programming over ruptures' cost.
        n, size, pen = len(x), i["min_size"], i["penalty"]
        best, back = np.full(n + 1, np.inf), [0] * (n + 1)
        best[0] = -pen
        for t in range(size, n + 1):
            for s in range(0, t - size + 1):
                value = best[s] + cost.error(s, t) + pen
                if value < best[t]:
                    best[t], back[t] = value, s
        found, t = [], n
        while t > 0:
            t = back[t]
            if t:
                found.append(t)
        return {"breakpoints": found[::-1]}


@oracle(96, "numpy (NIST formulas)", 1e-9)
class ControlChart:
    def sample(rng):
        chart = str(rng.choice(["individuals", "xbar-r", "ewma", "cusum", "p", "u"]))
        n = int(rng.integers(10, 60))
        i = {"values": fixed(rng.normal(50, 2, n)), "chart": chart, "lambda": 0.3, "lower_spec": 40, "upper_spec": 60}
        if chart == "xbar-r":
            i["subgroup_size"] = 5
        if chart in ("p", "u"):
            i["sizes"] = fixed(rng.integers(50, 100, n))
            i["values"] = fixed(rng.integers(0, 20, n))
            del i["lower_spec"], i["upper_spec"]
        return i

    def expect(i, out):
        x, chart = np.array(i["values"]), i["chart"]
        if chart in ("p", "u"):
            s = np.array(i["sizes"])
            c = x.sum() / s.sum()
            half = 3 * np.sqrt((c * (1 - c) if chart == "p" else c) / s)
            return {"centre": c, "statistic": x / s, "limits": np.column_stack([np.maximum(c - half, 0), c + half])}
        if chart == "xbar-r":
            g = x[:len(x) // 5 * 5].reshape(-1, 5)
            sigma, c, r = np.ptp(g, axis=1).mean() / 2.326, g.mean(), np.ptp(g, axis=1).mean()
            return {"centre": c, "statistic": g.mean(axis=1),
                    "limits": [[c - 3 * sigma / 5 ** 0.5, c + 3 * sigma / 5 ** 0.5],
                               [0, (1 + 3 * 0.864 / 2.326) * r]], "cp": 20 / (6 * sigma)}
        sigma, c = np.abs(np.diff(x)).mean() / 1.128, x.mean()
        if chart == "individuals":
            z = (x - c) / sigma
            return {"limits": [[c - 3 * sigma, c + 3 * sigma]], "cpk": min(60 - c, c - 40) / (3 * sigma),
                    "in_control": None if (np.abs(z) <= 3).all() else False}
        if chart == "ewma":
            z = pd.Series(np.r_[c, x]).ewm(alpha=0.3, adjust=False).mean().to_numpy()[1:]
            half = 3 * sigma * np.sqrt(0.3 / 1.7 * (1 - 0.7 ** (2 * np.arange(1, len(x) + 1))))
            return {"statistic": z, "limits": np.column_stack([c - half, c + half])}
        up = down = 0.0
        out_values = []
        for v in x:
            up, down = max(0, up + v - c - sigma / 2), max(0, down + c - v - sigma / 2)
            out_values.append(up if up >= down else -down)
        return {"statistic": out_values}


@oracle(97, "pymannkendall", 1e-8)
class Trend:
    def sample(rng):
        n = int(rng.integers(10, 80))
        x = np.cumsum(rng.normal(size=n)) * 0.3 + rng.normal(size=n) + 0.02 * rng.normal() * np.arange(n)
        correction = str(rng.choice(["none", "hamed-rao", "seasonal"]))
        return {"values": fixed(np.round(x, int(rng.integers(0, 5)))), "correction": correction,
                "period": 4 if correction == "seasonal" else 1}

    def expect(i, out):
        x = np.array(i["values"])
        # Sen's slope goes through two of the points or more, whose differences from it are equal: the package ranks them
        # by their rounding errors. Here, as in the engine, what differs by those only is tied.
        def rank(rest):
            scale = np.abs(rest).max() * 1e-12
            return st.rankdata(np.round(rest / scale) if scale > 0 else rest)
        pymannkendall.pymannkendall.rankdata = rank
        r = {"none": pymannkendall.original_test, "hamed-rao": pymannkendall.hamed_rao_modification_test,
             "seasonal": lambda v: pymannkendall.seasonal_test(v, 4)}[i["correction"]](x)
        return {"trend": {"no trend": "none"}.get(r.trend, r.trend), "s": r.s, "z": r.z, "p_value": r.p, "tau": r.Tau,
                "slope": r.slope, "intercept": r.intercept}


@oracle(98, "scipy", 1e-8, 100)
class Spectrum:
    def sample(rng):
        n = int(rng.integers(16, 600))
        t = np.arange(n)
        x = np.sin(2 * np.pi * t * rng.uniform(0.02, 0.4)) + rng.normal(size=n) + 0.01 * t
        method = str(rng.choice(["periodogram", "welch", "lomb-scargle"]))
        i = {"values": fixed(x[:120] if method == "lomb-scargle" else x), "method": method, "sample_rate": 4.0,
             "window": str(rng.choice(["rect", "hann", "hamming", "blackman"]))}
        if method == "lomb-scargle":
            i["times"] = fixed(np.sort(rng.uniform(0, 100, len(i["values"]))))
        return i

    def expect(i, out):
        x = np.array(i["values"])
        window = {"rect": "boxcar"}.get(i["window"], i["window"])
        if i["method"] == "periodogram":
            f, p = scipy.signal.periodogram(x, 4.0, window=window, detrend="linear")
        elif i["method"] == "welch":
            f, p = scipy.signal.welch(x, 4.0, window=window, nperseg=min(256, len(x)), detrend="linear")
        else:
            f = np.array(out["frequencies"])
            y = x - x.mean()
            p = np.r_[0.0, scipy.signal.lombscargle(np.array(i["times"]), y, 2 * np.pi * f[1:])] * 2 / (y ** 2).sum()
            return {"power": [None, *(p[1:])]}
        return {"frequencies": f, "power": p}


@oracle(99, "statsmodels", 1e-6, 100)
class Autocorrelation:
    def sample(rng):
        n = int(rng.integers(25, 200))
        e = rng.normal(size=n)
        x = np.cumsum(e) if rng.random() < 0.3 else scipy.signal.lfilter([1], [1, -rng.uniform(0, 0.9)], e)
        return {"values": fixed(x), "lags": int(rng.integers(3, 11))}

    def expect(i, out):
        x, lags = np.array(i["values"]), i["lags"]
        box = acorr_ljungbox(x, lags=[lags])
        a = adfuller(x, autolag="AIC")
        k = kpss(x, nlags="auto")
        return {"acf": acf(x, nlags=lags), "pacf": pacf(x, nlags=lags, method="ldb"),
                "ljung_box": {"statistic": box["lb_stat"].iloc[0], "p": box["lb_pvalue"].iloc[0]},
                "adf": {"statistic": a[0], "p": a[1], "lags": a[2]}, "kpss": {"statistic": k[0], "p": k[1]}}


@oracle(100, "statsmodels", 1e-4, 60)
class Kalman:
    def sample(rng):
        n = int(rng.integers(6, 40))
        model = str(rng.choice(["local-level", "constant-velocity"]))
        t = np.arange(n).astype(float)
        x = np.cumsum(np.cumsum(rng.normal(size=n)) if model != "local-level" else rng.normal(size=n)) + rng.normal(size=n)
        return {"observations": [{"time": a, "x": b} for a, b in zip(fixed(t), fixed(x))], "model": model,
                "process_noise": float(rng.uniform(0.1, 3)), "measurement_noise": float(rng.uniform(0.1, 3))}

    def expect(i, out):
        y = np.array([o["x"] for o in i["observations"]])
        q, r = i["process_noise"], i["measurement_noise"]
        if i["model"] == "local-level":
            m = sm.tsa.UnobservedComponents(y, "llevel")
            s = m.smooth([r, q])
            return {"states": [{"x": v, "sd": np.sqrt(c)} for v, c in zip(s.smoothed_state[0], s.smoothed_state_cov[0, 0])],
                    "log_likelihood": s.llf}
        model = sm.tsa.statespace.MLEModel(y, k_states=2, k_posdef=2)
        model.ssm["design"] = np.array([[1.0, 0.0]])
        model.ssm["transition"] = np.array([[1.0, 1.0], [0.0, 1.0]])
        model.ssm["selection"] = np.eye(2)
        model.ssm["obs_cov"] = np.array([[r]])
        model.ssm["state_cov"] = q * np.array([[1 / 3, 0.5], [0.5, 1.0]])
        model.ssm.initialize_diffuse()
        s = model.ssm.smooth()
        return {"states": [{"x": a, "vx": b, "sd": np.sqrt(c)}
                           for a, b, c in zip(s.smoothed_state[0], s.smoothed_state[1], s.smoothed_state_cov[0, 0])]}


@oracle(101, "scikit-learn", 1e-6, 60)
class Clusters:
    def sample(rng):
        centres = rng.normal(size=(3, 2)) * 8
        rows = np.vstack([c + rng.normal(size=(int(rng.integers(8, 25)), 2)) for c in centres])
        return {"rows": [fixed(r) for r in rows], "k": 3, "method": str(rng.choice(["kmeans", "ward"])),
                "standardise": bool(rng.random() < 0.5)}

    def expect(i, out):
        x = np.array(i["rows"])
        x = preprocessing.StandardScaler().fit_transform(x) if i["standardise"] else x
        labels = np.array(out["labels"])
        e = {"silhouette": metrics.silhouette_score(x, labels)}
        if i["method"] == "ward":
            theirs = cluster.AgglomerativeClustering(3, linkage="ward").fit_predict(x)
            e["k"] = 3 if metrics.adjusted_rand_score(labels, theirs) == 1.0 else -1
        else:
            r = cluster.KMeans(3, n_init=20, random_state=0).fit(x)
            e["inertia"] = min(r.inertia_, out["inertia"])
        return e


@oracle(102, "scikit-learn", 1e-7, 100)
class Components:
    def sample(rng):
        n, k = int(rng.integers(8, 60)), int(rng.integers(2, 6))
        x = rng.normal(size=(n, k)) @ rng.normal(size=(k, k)) * 10 ** rng.uniform(-1, 2, k)
        return {"rows": [fixed(r) for r in x], "standardise": bool(rng.random() < 0.5)}

    def expect(i, out):
        x = np.array(i["rows"])
        if i["standardise"]:
            x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
        p = decomposition.PCA(svd_solver="full").fit(x)
        # Two standardised columns always have loadings of one size: the first of the largest is positive.
        size = np.abs(p.components_)
        largest = (size > size.max(axis=1, keepdims=True) * (1 - 1e-12)).argmax(axis=1)
        sign = np.sign(p.components_[np.arange(len(p.components_)), largest])
        scores = p.transform(x) * sign
        keep = p.explained_variance_ > 1e-15 * p.explained_variance_[0]
        return {"explained": p.explained_variance_ratio_, "loadings": p.components_ * sign[:, None],
                "scores": scores, "t2": (scores[:, keep] ** 2 / p.explained_variance_[keep]).sum(axis=1)}


@oracle(103, "lifelines", 1e-8, 100)
class Survival:
    def sample(rng):
        n = int(rng.integers(10, 80))
        return {"times": fixed(np.round(rng.exponential(10, n), int(rng.integers(0, 3))) + 1),
                "events": [int(v) for v in rng.random(n) < 0.7],
                "groups": [str(g) for g in rng.choice(["a", "b", "c"][:int(rng.integers(1, 4))], n)], "at": [2.0, 5.0]}

    def expect(i, out):
        t, e, g = np.array(i["times"]), np.array(i["events"]), np.array(i["groups"])
        curves, at = [], []
        for name in sorted(set(g)):
            mine = g == name
            k = KaplanMeierFitter().fit(t[mine], e[mine])
            ci = k.confidence_interval_
            events = k.event_table[k.event_table["observed"] > 0]
            steps = [{"time": time, "events": row["observed"], "at_risk": row["at_risk"],
                      "survival": k.survival_function_.loc[time].iloc[0],
                      "low": ci.loc[time].iloc[0] if 0 < k.survival_function_.loc[time].iloc[0] < 1 else None,
                      "high": ci.loc[time].iloc[1] if 0 < k.survival_function_.loc[time].iloc[0] < 1 else None}
                     for time, row in events.iterrows()]
            # The package's products of shares end a rounding error above a half that is reached exactly.
            half = k.survival_function_.iloc[:, 0] <= 0.5 + 1e-12
            median = half.idxmax() if half.any() else np.inf
            curves.append({"group": name, "steps": steps, "median": median if np.isfinite(median) else None})
            at += [{"group": name, "survival": k.predict(time)} for time in i["at"]]
        r = {"curves": curves, "at": at}
        if len(set(g)) > 1 and e.sum() > 0 and all(e[g == name].sum() > 0 for name in set(g)):
            test = multivariate_logrank_test(t, g, e)
            r["logrank"] = {"chi_square": test.test_statistic, "p": test.p_value}
        return r


@oracle(104, "uncertainties", 1e-6, 100)
class Uncertainty:
    FORMULAS = {"a*b+c": lambda a, b, c: a * b + c, "sqrt(a^2+b^2)/c": lambda a, b, c: umath.sqrt(a**2 + b**2) / c,
                "exp(-a/10)*ln(b)+sin(c)": lambda a, b, c: umath.exp(-a / 10) * umath.log(b) + umath.sin(c)}

    def sample(rng):
        return {"formula": str(rng.choice(list(Uncertainty.FORMULAS))), "samples": 100,
                "inputs": [{"name": n, "distribution": "normal", "a": float(rng.uniform(3, 9)),
                            "b": float(rng.uniform(0.01, 0.3))} for n in "abc"]}

    def expect(i, out):
        r = Uncertainty.FORMULAS[i["formula"]](*[ufloat(v["a"], v["b"]) for v in i["inputs"]])
        return {"gum": {"value": r.nominal_value, "u": r.std_dev, "k2": 2 * r.std_dev}}


if __name__ == "__main__":
    main("stats", ORACLES)
