//! How long the largest inputs take, in release.

use std::time::Instant;

use serde_json::Value;

use crate::{Context, FamilyEngines};

/// Seconds that a call may take on the machine of the measurements.
const LONGEST: f64 = 5.0;

/// Runs an engine, prints how long it took, and fails if that is more than 5 s. `name` says which input it is.
pub fn measure(family: &'static FamilyEngines, number: u16, name: &str, input: Value) {
    let begun = Instant::now();
    let outcome = family.run(number, input, &Context::default());
    let seconds = begun.elapsed().as_secs_f64();
    let answer = outcome.map_or_else(|failure| failure.to_string(), |_| "ok".to_owned());
    println!("q{number} {name}: {seconds:.2} s, {answer}");
    assert!(seconds < LONGEST, "q{number} {name}: {seconds} s");
}
