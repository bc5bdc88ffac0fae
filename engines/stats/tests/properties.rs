//! Properties that hold for every input: shift, scale and order, and p-values that are uniform under the null.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use muster_engine::Context;
use muster_engines_stats::FAMILY;
use muster_kernel_numeric::dist::kolmogorov_sf;
use muster_kernel_numeric::sample::Sampler;
use serde_json::{Value, json};

fn run(number: u16, input: Value) -> Value {
    let engine = FAMILY.engines().iter().find(|engine| engine.number == number).unwrap();
    engine.run(input, &Context::default()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn normal(sampler: &mut Sampler, n: usize) -> Vec<f64> {
    (0..n).map(|_| sampler.normal()).collect()
}

fn close(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance * expected.abs().max(1.0), "{actual} in place of {expected}");
}

#[test]
fn a_summary_moves_and_scales_with_the_values() {
    let values = normal(&mut Sampler::new(5), 101);
    let moved: Vec<f64> = values.iter().map(|x| 1000.0 + 8.0 * x).collect();
    let (a, b) = (run(83, json!({ "values": values })), run(83, json!({ "values": moved })));
    close(number(&b["mean"]), 1000.0 + 8.0 * number(&a["mean"]), 1e-12);
    for name in ["sd", "mad"] {
        close(number(&b[name]), 8.0 * number(&a[name]), 1e-10);
    }
    for name in ["skewness", "kurtosis"] {
        close(number(&b[name]), number(&a[name]), 1e-8);
    }
    close(number(&b["ci"][2]), 1000.0 + 8.0 * number(&a["ci"][2]), 1e-10);
}

#[test]
fn the_order_of_the_values_does_not_matter_to_a_test() {
    let mut sampler = Sampler::new(8);
    let (mut a, b) = (normal(&mut sampler, 17), normal(&mut sampler, 12));
    for test in ["t", "welch", "mann-whitney", "anova", "kruskal"] {
        let before = run(84, json!({ "groups": [a, b], "test": test }));
        a.reverse();
        let after = run(84, json!({ "groups": [a, b], "test": test }));
        close(number(&after["p_value"]), number(&before["p_value"]), 1e-10);
        let turned = run(84, json!({ "groups": [b, a], "test": test }));
        close(number(&turned["p_value"]), number(&before["p_value"]), 1e-10);
    }
}

/// A monotone function of the values leaves every rank, so it leaves the tests of ranks.
#[test]
fn ranks_ignore_monotone_changes() {
    let mut sampler = Sampler::new(9);
    let (a, b) = (normal(&mut sampler, 20), normal(&mut sampler, 20));
    let (c, d): (Vec<f64>, Vec<f64>) = (a.iter().map(|x| x.exp()).collect(), b.iter().map(|x| x.exp()).collect());
    let groups = |a: &[f64], b: &[f64]| run(84, json!({ "groups": [a, b], "test": "mann-whitney" }));
    for name in ["statistic", "p_value", "effect"] {
        assert_eq!(groups(&a, &b)[name], groups(&c, &d)[name]);
    }
    for method in ["spearman", "kendall"] {
        let pairs = |a: &[f64], b: &[f64]| run(86, json!({ "columns": { "a": a, "b": b }, "method": method }));
        assert_eq!(pairs(&a, &b), pairs(&c, &d));
    }
}

/// The largest distance of 300 p-values from the uniform distribution is not significant at 0.1 %.
fn uniform(name: &str, mut draw: impl FnMut(&mut Sampler) -> f64) {
    let mut sampler = Sampler::new(11);
    let mut p: Vec<f64> = (0..300).map(|_| draw(&mut sampler)).collect();
    p.sort_by(f64::total_cmp);
    let n = p.len() as f64;
    let gap = p.iter().enumerate().map(|(i, p)| (p - (i as f64 + 0.5) / n).abs()).fold(0.0, f64::max);
    assert!(kolmogorov_sf(gap * n.sqrt()) > 1e-3, "{name}: {gap}");
}

#[test]
fn p_values_are_uniform_under_the_null() {
    for test in ["t", "welch", "anova", "mann-whitney", "kruskal"] {
        uniform(test, |s| {
            let groups = [normal(s, 25), normal(s, 24)];
            number(&run(84, json!({ "groups": groups, "test": test }))["p_value"])
        });
    }
    for method in ["pearson", "spearman", "kendall"] {
        uniform(method, |s| {
            let columns = json!({ "a": normal(s, 40), "b": normal(s, 40) });
            number(&run(86, json!({ "columns": columns, "method": method }))["pairs"][0]["p"])
        });
    }
    uniform("regression", |s| {
        let input = json!({ "y": normal(s, 30), "x": { "a": normal(s, 30), "b": normal(s, 30) } });
        number(&run(87, input)["f"]["p"])
    });
    uniform("trend", |s| number(&run(97, json!({ "values": normal(s, 60) }))["p_value"]));
    uniform("ljung-box", |s| number(&run(99, json!({ "values": normal(s, 300), "lags": 5 }))["ljung_box"]["p"]));
    uniform("log-rank", |s| {
        let times: Vec<f64> = (0..80).map(|_| s.exponential()).collect();
        let groups: Vec<&str> = (0..80).map(|k| if k % 2 == 0 { "a" } else { "b" }).collect();
        let input = json!({ "times": times, "events": vec![1; 80], "groups": groups });
        number(&run(103, input)["logrank"]["p"])
    });
}

#[test]
fn residuals_are_orthogonal_to_the_columns() {
    let mut sampler = Sampler::new(2);
    let (y, x) = (normal(&mut sampler, 50), normal(&mut sampler, 50));
    let fit =
        run(87, json!({ "y": y, "x": { "x": x }, "predict": x.iter().map(|x| json!({ "x": x })).collect::<Vec<_>>() }));
    let rest: Vec<f64> =
        y.iter().zip(fit["predictions"].as_array().unwrap()).map(|(y, p)| y - number(&p["fit"])).collect();
    close(rest.iter().sum::<f64>(), 0.0, 1e-12);
    close(rest.iter().zip(&x).map(|(e, x)| e * x).sum::<f64>(), 0.0, 1e-12);
}

#[test]
fn parts_of_a_series_sum_to_it() {
    let mut sampler = Sampler::new(4);
    let values: Vec<f64> = (0..70).map(|t| (f64::from(t) * 0.9).sin() * 3.0 + sampler.normal()).collect();
    let parts = run(92, json!({ "values": values, "period": 7 }));
    for (at, value) in values.iter().enumerate() {
        let sum = ["trend", "seasonal", "remainder"].iter().map(|name| number(&parts[name][at])).sum::<f64>();
        close(sum, *value, 1e-12);
    }
}

/// Parseval: the density sums to the variance of what is left without a line, here a pure sine.
#[test]
fn the_power_of_a_sine_is_half_of_its_squared_amplitude() {
    let values: Vec<f64> = (0..400).map(|t| 3.0 * (2.0 * std::f64::consts::PI * f64::from(t) / 20.0).sin()).collect();
    let found = run(98, json!({ "values": values, "window": "rect" }));
    let total: f64 = found["power"].as_array().unwrap().iter().map(number).sum();
    // A line through a sine takes a little off.
    close(total / 400.0, 4.5, 0.02);
    close(number(&found["peaks"][0]["frequency"]), 0.05, 1e-12);
    assert!(number(&found["peaks"][0]["p"]) < 1e-20);
}

#[test]
fn a_shift_of_a_series_moves_neither_breaks_nor_anomalies() {
    let mut sampler = Sampler::new(6);
    let mut values: Vec<f64> = (0..60).map(|t| if t < 25 { 0.0 } else { 4.0 } + sampler.normal()).collect();
    let moved: Vec<f64> = values.iter().map(|x| x * 3.0 + 100.0).collect();
    let (a, b) = (run(95, json!({ "values": values })), run(95, json!({ "values": moved })));
    assert_eq!(a["breakpoints"], json!([25]));
    assert_eq!(a["breakpoints"], b["breakpoints"]);
    values[40] = 60.0;
    let moved: Vec<f64> = values.iter().map(|x| x * 3.0 + 100.0).collect();
    let index = |values: &[f64]| run(94, json!({ "values": values }))["anomalies"][0]["index"].clone();
    assert_eq!((index(&values), index(&moved)), (json!(40), json!(40)));
}

/// Gaps of a track are bridged: the state at a gap lies between its neighbours, with a larger deviation.
#[test]
fn a_gap_has_a_larger_deviation() {
    let observations: Vec<Value> = (0..20).map(|t| json!({ "time": t, "x": 5.0 * f64::from(t) })).collect();
    let found = run(100, json!({ "observations": observations, "predict_to": [9.5, 40.0] }));
    close(number(&found["predictions"][0]["x"]), 47.5, 1e-6);
    close(number(&found["predictions"][1]["x"]), 200.0, 1e-6);
    let inside = number(&found["states"][10]["sd"]);
    assert!(number(&found["predictions"][1]["sd"]) > 5.0 * inside);
}

#[test]
fn loadings_are_orthonormal_and_scores_uncorrelated() {
    let mut sampler = Sampler::new(3);
    let rows: Vec<Vec<f64>> = (0..40).map(|_| normal(&mut sampler, 4)).collect();
    let found = run(102, json!({ "rows": rows }));
    let matrix = |name: &str| -> Vec<Vec<f64>> {
        let rows = found[name].as_array().unwrap();
        rows.iter().map(|row| row.as_array().unwrap().iter().map(number).collect()).collect()
    };
    let (loadings, scores) = (matrix("loadings"), matrix("scores"));
    for i in 0..4 {
        for j in 0..4 {
            let dot: f64 = loadings[i].iter().zip(&loadings[j]).map(|(a, b)| a * b).sum();
            close(dot, if i == j { 1.0 } else { 0.0 }, 1e-12);
            if i != j {
                close(scores.iter().map(|row| row[i] * row[j]).sum::<f64>(), 0.0, 1e-9);
            }
        }
    }
    close(found["explained"].as_array().unwrap().iter().map(number).sum(), 1.0, 1e-12);
}

/// ASTM's constants of the range: E(W) = ∫ 1 − Φⁿ − (1 − Φ)ⁿ, here by the limits of an xbar-r chart of unit ranges.
#[test]
fn the_constants_of_ranges_are_those_of_normal_values() {
    let phi = muster_kernel_numeric::dist::normal_cdf;
    for n in 2..=25_i32 {
        let steps = 4_000;
        let mean: f64 = (0..steps)
            .map(|k| {
                let x = -8.0 + 16.0 * (f64::from(k) + 0.5) / f64::from(steps);
                (1.0 - phi(x).powi(n) - (1.0 - phi(x)).powi(n)) * 16.0 / f64::from(steps)
            })
            .sum();
        let values: Vec<f64> = (0..4 * n).map(|k| f64::from(k % n == n - 1)).collect();
        let found = run(96, json!({ "values": values, "chart": "xbar-r", "subgroup_size": n }));
        let sigma = (number(&found["limits"][0][1]) - number(&found["centre"])) * f64::from(n).sqrt() / 3.0;
        close(1.0 / sigma, mean, 6e-4);
    }
}

/// The same seed gives the same bytes, another one does not.
#[test]
fn a_seed_decides() {
    let input = |seed: i64| {
        json!({ "formula": "a*b", "seed": seed, "samples": 500, "inputs": [
            { "name": "a", "distribution": "pert", "a": 1, "b": 4, "c": 2 },
            { "name": "b", "distribution": "lognormal", "a": 0, "b": 0.3 } ] })
    };
    let text = |seed| run(104, input(seed)).to_string();
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}
