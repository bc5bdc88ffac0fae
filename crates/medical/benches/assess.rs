//! What the knowledge base costs: parsing, memory, an assessment of 20 and of 200 words, one score.
//!
//! `cargo bench -p muster-medical --bench assess`. Medians of many runs on one thread.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark")]

use std::hint::black_box;
use std::time::Instant;

use muster_medical::assess::assess;
use muster_medical::base::Base;
use muster_medical::input::{Input, Patient, Vitals};
use muster_medical::score::{self, Inputs};

const SHORT: &str =
    "I have had crushing chest pain for an hour, it goes into my left arm, and I am sweating and feel sick.";

/// Two hundred words of an ordinary consultation.
const LONG: &str = "This 58-year-old woman presents with a productive cough and shortness of breath that began five days \
    ago after a cold. She says the sputum was white at first and has turned green since yesterday. She felt feverish during \
    the night and took paracetamol, which helped for some hours. She denies chest pain, haemoptysis, leg swelling or recent \
    travel. She has no wheeze that she noticed, but her husband thinks that she breathes faster than usual when she climbs \
    the stairs. She sleeps on one pillow. Her appetite is a little worse than normal and she feels tired. There is no \
    vomiting or diarrhoea, no rash, no headache and no stiff neck. She has hypertension and type 2 diabetes, for which she \
    takes lisinopril and metformin, and she smoked twenty cigarettes a day for ten years until she stopped at forty. Her \
    mother had a stroke at seventy and her father died of lung cancer. She works in a school, where several children have \
    been ill this month. On examination she looks well, is alert, speaks in full sentences, and has crackles at the base of \
    the right lung. Her temperature is 38.2 degrees, her pulse 96, her blood pressure 134/82 and her oxygen saturation 95 \
    percent on air.";

fn main() {
    // cargo passes --bench, and a filter if one is given; there is nothing to filter.
    let before = resident();
    let begun = Instant::now();
    let base = Base::load().expect("the knowledge base loads");
    let parsed = begun.elapsed();
    println!("parse {:>10.1} ms, {:.1} MiB resident", parsed.as_secs_f64() * 1e3, (resident() - before) / 1048576.0);

    let patient = Patient { age: Some(58.0), ..Patient::default() };
    let vitals = Vitals { systolic: Some(134.0), heart_rate: Some(96.0), spo2: Some(95.0), ..Vitals::default() };
    for (name, text) in [("20 words", SHORT), ("200 words", LONG)] {
        let input = Input {
            texts: vec![text.to_owned()],
            language: "en".to_owned(),
            patient: patient.clone(),
            vitals: vitals.clone(),
            ..Input::default()
        };
        median(&format!("assess {name}"), 2_000, || assess(&base, &input).expect("readable").ranked.len());
    }
    let mut inputs = Inputs::default();
    inputs.set("respiratory_rate", 22.0).set("spo2_percent", 94.0).set("heart_rate_bpm", 104.0);
    median("news2", 20_000, || score::evaluate("news2", &inputs).and_then(|score| score.max).is_some());
}

/// Prints the median and the 99th percentile of runs, in microseconds.
fn median<T>(name: &str, runs: usize, mut run: impl FnMut() -> T) {
    let mut took: Vec<f64> = Vec::with_capacity(runs);
    for _ in 0..runs {
        let begun = Instant::now();
        black_box(run());
        took.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took.get(((runs - 1) as f64 * share) as usize).copied().unwrap_or_default();
    println!("{name:18} p50 {:>8.1} us  p99 {:>8.1} us", at(0.5), at(0.99));
}

/// Bytes of memory that this process holds.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or_default() * 4096.0
}
