//! A judgement by the default rules, by 64 rules, and the time to compile them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use muster_policy::{DEFAULT_RULES, Facts, MAX_RULES, Rules, compile};

const JUDGEMENTS: usize = 50_000;

fn facts(number: usize) -> Facts {
    Facts {
        action: "firmware.rollout".to_owned(),
        resource: format!("job_{number}"),
        requester: "usr_01M7ZC2GXH0005F7FKJW5QGHJ6".to_owned(),
        risk: 3,
        bound: true,
        session_s: 60,
        critical_incident: false,
        blast: number as u64,
        budget_pct: 0,
        rejected_1h: false,
        vetoed_1h: 0,
        audit_ok: true,
        frozen: false,
    }
}

fn judged(name: &str, rules: &Rules) {
    let facts: Vec<Facts> = (0..100).map(facts).collect();
    let mut times: Vec<Duration> = (0..JUDGEMENTS)
        .map(|number| {
            let begun = Instant::now();
            black_box(rules.judge(black_box(&facts[number % facts.len()])));
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize];
    println!("{name}: p50 {:?}, p99 {:?}, p99.9 {:?}", at(0.5), at(0.99), at(0.999));
}

fn main() {
    judged("veto by the 9 default rules", &compile(DEFAULT_RULES).unwrap());
    let many: String = (0..MAX_RULES - 1)
        .map(|rule| {
            format!("@id(\"r{rule}\") forbid(principal, action, resource) when {{ context.blast > {} }};\n", rule + 99)
        })
        .collect();
    judged("veto by 63 rules", &compile(&many).unwrap());
    let begun = Instant::now();
    for _ in 0..100 {
        black_box(compile(black_box(DEFAULT_RULES)).unwrap());
    }
    println!("compile and validate the default rules: {:?}", begun.elapsed() / 100);
}
