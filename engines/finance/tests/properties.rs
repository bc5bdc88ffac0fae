//! Properties that hold for every input: exact sums, a rate of zero, masks.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use muster_engine::Context;
use muster_engines_finance::FAMILY;
use muster_kernel_numeric::sample::Sampler;
use rust_decimal::Decimal;
use serde_json::{Value, json};

fn run(number: u16, input: Value) -> Value {
    let engine = FAMILY.engines().iter().find(|engine| engine.number == number).unwrap();
    engine.run(input, &Context::default()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn parts_of_an_amount_sum_to_it_exactly() {
    let mut sampler = Sampler::new(1);
    for _ in 0..200 {
        let amount = format!("{:.2}", (sampler.uniform() - 0.3) * 1e6);
        let parts = 1 + sampler.index(40);
        let to = ["EUR", "JPY", "KWD", "CLF"][sampler.index(4)];
        let rates = json!({ "EUR": "0.9137", "JPY": "151.27", "KWD": "0.30741", "CLF": "0.0247" });
        let found = run(126, json!({ "amount": amount, "from": "USD", "to": to, "rates": rates, "split": parts }));
        let sum: Decimal =
            found["parts"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().parse::<Decimal>().unwrap()).sum();
        assert_eq!(sum, found["amount"].as_str().unwrap().parse::<Decimal>().unwrap());
        assert_eq!(found["parts"].as_array().unwrap().len(), parts);
    }
}

#[test]
fn at_a_rate_of_zero_the_present_value_is_the_sum() {
    let found = run(123, json!({ "costs": [100, 20, 0.5], "benefits": [0, 90, 80.25], "discount_rate": 0 }));
    assert_eq!(number(&found["npv"]), 49.75);
    assert_eq!(found["payback"], found["discounted_payback"]);
}

/// −1000 + 2500/(1+r) − 1560/(1+r)² is zero at 20 % and 30 %.
#[test]
fn both_internal_rates_are_found() {
    let input = |rate: f64| json!({ "costs": [1000, 0, 1560], "benefits": [0, 2500, 0], "discount_rate": rate });
    let (low, high) = (run(123, input(0.1)), run(123, input(0.4)));
    assert!((number(&low["irr"]) - 0.2).abs() < 1e-12);
    assert!((number(&high["irr"]) - 0.3).abs() < 1e-12);
    assert_eq!(low["irr_unique"], json!(false));
}

#[test]
fn no_answer_shows_a_card_number() {
    for kind in ["auto", "pan", "iban"] {
        for text in ["4111 1111 1111 1111", "4111-1111-1111-1112", "41111111111111111111111"] {
            let found = run(127, json!({ "values": [text], "kind": kind })).to_string();
            let middle: String = text.chars().filter(char::is_ascii_digit).skip(6).take(6).collect();
            assert!(kind == "iban" || !found.contains(&middle), "{kind}: {found}");
        }
    }
}

/// A wrong digit never passes, nor two that changed places (Luhn misses 09 and 90 alone).
#[test]
fn check_digits_find_a_wrong_digit() {
    let known = [
        ("iban", "GB82WEST12345698765432"),
        ("iban", "DE89370400440532013000"),
        ("lei", "5493001KJTIIGC8Y1R12"),
        ("isin", "US0378331005"),
        ("pan", "4111111111111111"),
        ("aba", "021000021"),
    ];
    for (kind, text) in known {
        assert_eq!(run(127, json!({ "values": [text], "kind": kind }))["results"][0]["valid"], json!(true), "{text}");
        for (at, old) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
            for new in ('0'..='9').filter(|new| *new != old) {
                let mut wrong = text.to_owned();
                wrong.replace_range(at..=at, &new.to_string());
                let found = run(127, json!({ "values": [wrong], "kind": kind }));
                assert_eq!(found["results"][0]["valid"], json!(false), "{wrong}");
            }
        }
    }
}

#[test]
fn deeper_water_does_not_cost_less() {
    for region in ["africa", "asia", "europe", "north-america", "oceania", "south-central-america"] {
        let depths = (0..70).map(|d| f64::from(d) * 0.1);
        let damage: Vec<f64> = depths
            .map(|depth| {
                let asset = json!({ "id": "a", "class": "residential", "value": 1, "depths": { "100": depth } });
                number(&run(122, json!({ "assets": [asset], "region": region }))["assets"][0]["damage"]["100"])
            })
            .collect();
        assert!(damage.windows(2).all(|w| w[0] <= w[1]), "{region}: {damage:?}");
        assert_eq!((damage[0], damage[69]), (0.0, 1.0));
    }
}

/// Against the formula of a compound Poisson sum: mean Σ rate·loss, variance Σ rate·loss².
#[test]
fn simulated_years_have_the_mean_of_the_formula() {
    let events = json!([
        { "id": "a", "rate": 0.4, "loss": 10 }, { "id": "b", "rate": 0.1, "loss": 50 }, { "id": "c", "rate": 0.02, "loss": 300, "sd": 150 } ]);
    let found = run(124, json!({ "events": events, "years": 40000, "return_periods": [1] }));
    // One year in one: the tail is every year.
    let (mean, error) = (number(&found["aal"]), number(&found["sd"]) / 200.0);
    assert!((number(&found["aep"][0]["tvar"]) - mean).abs() < 4.0 * error, "{found}");
    assert_eq!(found, run(124, json!({ "events": events, "years": 40000, "return_periods": [1] })));
}

#[test]
fn every_entry_is_matched_once_or_left() {
    let mut sampler = Sampler::new(12);
    let mut side = |name: &str| -> Vec<Value> {
        (0..40)
            .map(|k| {
                let amount = ["10.00", "20.00", "30.00", "7.50"][sampler.index(4)];
                json!({ "id": format!("{name}{k}"), "date": format!("2026-02-{:02}", 1 + sampler.index(28)), "amount": amount })
            })
            .collect()
    };
    let (left, right) = (side("l"), side("r"));
    let found = run(128, json!({ "left": left, "right": right, "days": 2 }));
    for (name, entries) in [("left", &left), ("right", &right)] {
        let matched = found["matched"].as_array().unwrap().iter().flat_map(|m| m[name].as_array().unwrap());
        let rest = found[format!("unmatched_{name}").as_str()].as_array().unwrap();
        let mut ids: Vec<&str> = matched.chain(rest).map(|id| id.as_str().unwrap()).collect();
        ids.sort_unstable();
        let mut all: Vec<&str> = entries.iter().map(|e| e["id"].as_str().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(ids, all);
    }
    let amount = |entries: &[Value], id: &Value| -> Decimal {
        entries.iter().find(|e| e["id"] == *id).unwrap()["amount"].as_str().unwrap().parse().unwrap()
    };
    for pair in found["matched"].as_array().unwrap() {
        let total = |name: &str, entries: &[Value]| -> Decimal {
            pair[name].as_array().unwrap().iter().map(|id| amount(entries, id)).sum()
        };
        assert_eq!(total("left", &left), total("right", &right), "{pair}");
    }
}

#[test]
fn the_first_digits_of_powers_of_two_follow_benford() {
    let amounts: Vec<f64> = (0..90).map(|k| 2.0_f64.powi(k)).collect();
    let found = run(129, json!({ "amounts": amounts }));
    assert_eq!(found["first_digit"]["conformity"], json!("close"));
    let shares: f64 = found["digits"].as_array().unwrap()[..9].iter().map(|d| number(&d["observed"])).sum();
    assert!((shares - 1.0).abs() < 1e-12);
}
