//! How long an engine takes and how much memory it uses: `engine_bench 21` prints one JSON line for q21. `benches/engines`
//! makes the table of all.
//!
//! The example is run many times. Then it grows, one list or text at a time (and all lists at once), by doubling and at the
//! end by halves, until the engine refuses the size, the input is as large as a request may be, or the call takes longer
//! than it may. What is reported of that is the slowest accepted input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::cast_precision_loss, reason = "a measurement")]

use std::time::{Duration, Instant};

use muster_engines::{Context, Cost, Engine, Failure, Nature, by_number};
use serde_json::{Value, json};

/// Largest input, in bytes of its JSON: the default limit of a body.
const MAX_INPUT: usize = 8 << 20;
/// Runs of the example: at most so many, and no more after so long.
const RUNS: usize = 2_000;
const EXAMPLE_TIME: Duration = Duration::from_millis(400);
/// Largest number of lists and texts of an input that grow.
const MAX_PARTS: usize = 24;
/// Halvings between a size that is accepted and one that is not.
const HALVINGS: usize = 3;
/// Members that name an item: copies get names of their own.
const NAMES: [&str; 6] = ["id", "name", "key", "label", "as", "title"];

/// A call that was measured.
struct Run {
    part: String,
    bytes: usize,
    took: Duration,
    memory_kib: u64,
}

/// How a size ended.
enum Tried {
    Accepted(Run),
    /// Refused, larger than a request, or too slow; the word says which.
    Beyond(&'static str, Option<Run>),
}

fn main() {
    let number = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("the number of an engine");
    let engine = by_number(number).expect("an engine of this build");
    let example = example_times(engine);
    let (largest, limits) = grown(engine);
    let largest = largest.map(|run| {
        let ms = run.took.as_secs_f64() * 1e3;
        json!({ "part": run.part, "bytes": run.bytes, "ms": ms, "memory_mib": run.memory_kib as f64 / 1024.0 })
    });
    println!(
        "{}",
        json!({
            "number": engine.number, "id": engine.id, "family": engine.family.name(), "long": engine.cost == Cost::Long,
            "example_us": example, "largest": largest, "limits": limits,
        })
    );
}

/// Runs an engine; what a model would answer is refused.
fn run(engine: &Engine, input: Value) -> Result<Value, Failure> {
    let context = match engine.nature {
        Nature::Workspace => Context::with_workspace(std::env::current_dir().unwrap()),
        _ => Context::default(),
    };
    engine.run(input, &context.refusing("a measurement"))
}

/// Median and 99th percentile of the example, in microseconds; absent where it has no answer here.
fn example_times(engine: &Engine) -> Option<Value> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < RUNS && (times.len() < 3 || begun.elapsed() < EXAMPLE_TIME) {
        let (input, at) = (engine.example(), Instant::now());
        run(engine, input).ok()?;
        times.push(at.elapsed());
    }
    times.sort();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    Some(json!({ "p50": at(0.5), "p99": at(0.99), "runs": times.len() }))
}

/// The slowest accepted input, and what ended the growth of each part.
fn grown(engine: &Engine) -> (Option<Run>, Value) {
    let example = engine.example();
    let mut parts: Vec<Vec<String>> = Vec::new();
    find_parts(&example, &mut Vec::new(), &mut parts);
    parts.truncate(MAX_PARTS);
    let mut chosen: Vec<Vec<Vec<String>>> = parts.iter().map(|part| vec![part.clone()]).collect();
    let lists: Vec<Vec<String>> = parts.iter().filter(|part| part.len() == 1).cloned().collect();
    if lists.len() > 1 {
        chosen.push(lists);
    }
    let (mut slowest, mut limits): (Option<Run>, Vec<Value>) = (None, Vec::new());
    for parts in chosen {
        let name = parts.iter().map(|part| part.join(".")).collect::<Vec<_>>().join(" and ");
        let (largest, ended) = grow(engine, &example, &parts, &name);
        limits.push(json!({ "part": name, "bytes": largest.as_ref().map(|run| run.bytes), "ended": ended }));
        slowest = slower(slowest, largest);
    }
    (slowest, limits.into())
}

fn slower(one: Option<Run>, other: Option<Run>) -> Option<Run> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.took > one.took { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// The slowest accepted input of some parts, and why they grow no further.
fn grow(engine: &Engine, example: &Value, parts: &[Vec<String>], name: &str) -> (Option<Run>, &'static str) {
    let (mut slowest, mut factor) = (None, 2_usize);
    let (mut accepted, beyond, why) = loop {
        match attempt(engine, example, parts, name, factor) {
            Tried::Accepted(run) => {
                slowest = slower(slowest, Some(run));
                factor *= 2;
            }
            Tried::Beyond(why, run) => {
                slowest = slower(slowest, run);
                break (factor / 2, factor, why);
            }
        }
    };
    let mut beyond = beyond;
    for _ in 0..HALVINGS {
        let middle = accepted.midpoint(beyond);
        if why == "slow" || middle == accepted {
            break;
        }
        match attempt(engine, example, parts, name, middle) {
            Tried::Accepted(run) => {
                slowest = slower(slowest, Some(run));
                accepted = middle;
            }
            Tried::Beyond(_, run) => {
                slowest = slower(slowest, run);
                beyond = middle;
            }
        }
    }
    (slowest, why)
}

fn attempt(engine: &Engine, example: &Value, parts: &[Vec<String>], name: &str, factor: usize) -> Tried {
    let mut input = example.clone();
    for part in parts {
        multiply(&mut input, part, factor);
    }
    let bytes = input.to_string().len();
    if bytes > MAX_INPUT {
        return Tried::Beyond("body", None);
    }
    let before = memory("VmRSS:");
    // Sets the peak back to the present.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let begun = Instant::now();
    let ended = run(engine, input);
    let took = begun.elapsed();
    let memory_kib = memory("VmHWM:").saturating_sub(before);
    let measured = Run { part: format!("{name} × {factor}"), bytes, took, memory_kib };
    let most = if engine.cost == Cost::Long { Duration::from_secs(45) } else { Duration::from_secs(5) };
    match ended {
        Ok(_) | Err(Failure::NoAnswer { .. }) if took > most => Tried::Beyond("slow", Some(measured)),
        Ok(_) | Err(Failure::NoAnswer { .. }) => Tried::Accepted(measured),
        Err(Failure::TooLarge { .. }) => Tried::Beyond("too_large", Some(measured).filter(|run| run.took > most)),
        Err(_) => Tried::Beyond("invalid", Some(measured).filter(|run| run.took > most)),
    }
}

/// Finds the lists and texts of an input, by the names that lead to them; `*` is every item of a list.
fn find_parts(value: &Value, at: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            found.push(at.clone());
            at.push("*".to_owned());
            if let Some(first) = items.first() {
                find_parts(first, at, found);
            }
            at.pop();
        }
        Value::Object(members) if at.len() < 4 => {
            for (name, value) in members {
                at.push(name.clone());
                find_parts(value, at, found);
                at.pop();
            }
        }
        Value::String(text) if text.len() >= 8 => found.push(at.clone()),
        _ => {}
    }
}

/// Makes a list or text longer by a factor.
fn multiply(value: &mut Value, part: &[String], factor: usize) {
    match (value, part) {
        (Value::Array(items), []) => {
            let known = items.clone();
            for copy in 1..factor {
                items.extend(known.iter().map(|item| renamed(item, copy)));
            }
        }
        (Value::String(text), []) => {
            let known = text.clone();
            for _ in 1..factor {
                text.push('\n');
                text.push_str(&known);
            }
        }
        (Value::Array(items), [_, rest @ ..]) => items.iter_mut().for_each(|item| multiply(item, rest, factor)),
        (Value::Object(members), [name, rest @ ..]) => {
            if let Some(member) = members.get_mut(name) {
                multiply(member, rest, factor);
            }
        }
        _ => {}
    }
}

/// A copy of an item with names of its own.
fn renamed(item: &Value, copy: usize) -> Value {
    let mut item = item.clone();
    if let Some(members) = item.as_object_mut() {
        for (name, value) in members.iter_mut().filter(|(name, _)| NAMES.contains(&name.as_str())) {
            if let Value::String(text) = value {
                text.push_str(&format!("-{copy}"));
            } else if let (true, Some(number)) = (name == "id", value.as_u64()) {
                *value = json!(number + 1_000_000 * copy as u64);
            }
        }
    }
    item
}

/// A figure of this process's memory, in KiB.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    found.unwrap_or_default()
}
