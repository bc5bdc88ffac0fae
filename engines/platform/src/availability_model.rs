//! q60: availability of a system.

use std::collections::BTreeSet;

use muster_engine::prelude::*;

const MAX_BLOCKS: usize = 500;
const MAX_DEPTH: usize = 50;
const MAX_OUTAGES: usize = 100_000;
const HOURS_PER_YEAR: f64 = 8_760.0;
const FORM: &str = "a block is {id, availability}, {id, mtbf, mttr}, {series: [blocks]}, {parallel: [blocks]} or \
                    {k, of: [blocks]}";

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    blocks: Option<Value>,
    outages: Option<Vec<Span>>,
    period: Option<Span>,
}

#[derive(Input)]
struct Span {
    start: Timestamp,
    end: Timestamp,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    availability: f64,
    downtime_per_year_h: f64,
    mtbf_h: Option<f64>,
    mttr_h: Option<f64>,
    nines: Option<f64>,
    importance: Vec<Importance>,
}

#[derive(Output)]
struct Importance {
    block: String,
    birnbaum: f64,
}

/// Computes the availability of a block diagram, or of the history of outages. `mtbf` is the mean time in operation.
///
/// # Errors
/// `Invalid` (neither or both, a block of no known form), `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    match (input.blocks, input.outages) {
        (Some(blocks), None) => {
            if input.period.is_some() {
                cx.warn("period: a block diagram does not use it");
            }
            diagram(&blocks)
        }
        (None, Some(outages)) => history(outages, input.period),
        _ => Err(Failure::invalid(&["blocks"], "give either blocks or outages with their period")),
    }
}

fn output(availability: f64, mtbf_h: Option<f64>, mttr_h: Option<f64>, importance: Vec<Importance>) -> Output {
    let down = 1.0 - availability;
    Output {
        availability,
        downtime_per_year_h: down * HOURS_PER_YEAR,
        mtbf_h,
        mttr_h,
        nines: (down > 0.0).then(|| -down.log10() + 0.0),
        importance,
    }
}

enum Block {
    Unit(usize),
    Series(Vec<Self>),
    Parallel(Vec<Self>),
    Vote(usize, Vec<Self>),
}

struct Unit {
    id: String,
    availability: f64,
    /// Mean times in operation and in repair, h.
    times: Option<(f64, f64)>,
}

fn diagram(value: &Value) -> Result<Output, Failure> {
    let mut units = Vec::new();
    let root = read(value, &mut vec!["blocks".to_owned()], &mut units)?;
    let mut known = BTreeSet::new();
    if let Some(twice) = units.iter().find(|unit| !known.insert(unit.id.as_str())) {
        let problem = format!("{} occurs twice: blocks are independent, so each has its own id", twice.id);
        return Err(Failure::invalid(&["blocks"], problem));
    }
    let mut up: Vec<f64> = units.iter().map(|unit| unit.availability).collect();
    let availability = root.availability(&up);
    let mut importance = Vec::new();
    let mut frequency = Some(0.0);
    for (at, unit) in units.iter().enumerate() {
        let mut with = |value: f64| {
            up.get_mut(at).into_iter().for_each(|a| *a = value);
            root.availability(&up)
        };
        let birnbaum = (with(1.0) - with(0.0)).clamp(0.0, 1.0);
        with(unit.availability);
        // A unit that is critical stops the system at its own frequency of failures.
        frequency = frequency.zip(unit.times).map(|(sum, (mtbf, mttr))| sum + birnbaum / (mtbf + mttr));
        importance.push(Importance { block: unit.id.clone(), birnbaum });
    }
    importance.sort_by(|a, b| b.birnbaum.total_cmp(&a.birnbaum));
    let mean = |share: f64| frequency.filter(|f| *f > 0.0).map(|f| share / f).filter(|h| h.is_finite());
    Ok(output(availability, mean(availability), mean(1.0 - availability), importance))
}

impl Block {
    fn availability(&self, up: &[f64]) -> f64 {
        match self {
            Self::Unit(at) => up.get(*at).copied().unwrap_or(0.0),
            Self::Series(parts) => parts.iter().map(|part| part.availability(up)).product(),
            Self::Parallel(parts) => 1.0 - parts.iter().map(|part| 1.0 - part.availability(up)).product::<f64>(),
            Self::Vote(k, parts) => {
                // Chances that 0, 1, 2, … of the parts so far are up.
                let mut counts = vec![1.0];
                for part in parts {
                    let a = part.availability(up);
                    let mut next = vec![0.0; counts.len() + 1];
                    for (n, chance) in counts.iter().enumerate() {
                        next.get_mut(n).into_iter().for_each(|c| *c += chance * (1.0 - a));
                        next.get_mut(n + 1).into_iter().for_each(|c| *c += chance * a);
                    }
                    counts = next;
                }
                counts.iter().skip(*k).sum::<f64>().clamp(0.0, 1.0)
            }
        }
    }
}

fn read(value: &Value, path: &mut Vec<String>, units: &mut Vec<Unit>) -> Result<Block, Failure> {
    let wrong = |path: &[String], problem: &str| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        Err(Failure::invalid(&path, problem))
    };
    if path.len() > 2 * MAX_DEPTH {
        return wrong(path, "blocks are nested too deeply");
    }
    if units.len() >= MAX_BLOCKS {
        return Err(Failure::too_large(format!("blocks: at most {MAX_BLOCKS}")));
    }
    let Some(object) = value.as_object() else { return wrong(path, FORM) };
    if let Some(unknown) = object
        .keys()
        .find(|key| !["id", "availability", "mtbf", "mttr", "series", "parallel", "k", "of"].contains(&key.as_str()))
    {
        path.push(unknown.clone());
        return wrong(path, FORM);
    }
    let lists: Vec<&str> = ["series", "parallel", "of"].into_iter().filter(|name| object.contains_key(*name)).collect();
    if let [name] = lists.as_slice() {
        let single = object.keys().all(|key| key == name || key == "id" || (*name == "of" && key == "k"));
        let Some(items) = object.get(*name).and_then(Value::as_array).filter(|items| !items.is_empty() && single)
        else {
            return wrong(path, FORM);
        };
        let mut parts = Vec::new();
        for (at, item) in items.iter().enumerate() {
            path.extend([(*name).to_owned(), at.to_string()]);
            parts.push(read(item, path, units)?);
            path.truncate(path.len().saturating_sub(2));
        }
        return match *name {
            "series" => Ok(Block::Series(parts)),
            "parallel" => Ok(Block::Parallel(parts)),
            _ => match object.get("k").and_then(Value::as_u64).and_then(|k| usize::try_from(k).ok()) {
                Some(k) if k >= 1 && k <= parts.len() => Ok(Block::Vote(k, parts)),
                _ => wrong(path, "k is the number of blocks that must be up, from 1 to their number"),
            },
        };
    }
    let number = |name: &str| object.get(name).and_then(Value::as_f64);
    let Some(id) = object.get("id").and_then(Value::as_str).filter(|_| lists.is_empty()) else {
        return wrong(path, FORM);
    };
    let (availability, times) = match (number("availability"), number("mtbf"), number("mttr")) {
        (Some(a), None, None) if (0.0..=1.0).contains(&a) => (a, None),
        (None, Some(up), Some(down)) if up > 0.0 && up <= 1e12 && (0.0..=1e12).contains(&down) => {
            (up / (up + down), Some((up, down)))
        }
        _ => return wrong(path, "an availability from 0 to 1, or mtbf (positive) and mttr in hours"),
    };
    units.push(Unit { id: id.to_owned(), availability, times });
    Ok(Block::Unit(units.len() - 1))
}

fn hours(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() / 3_600.0
}

/// Outages that overlap are one; what is outside of the period does not count.
fn history(outages: Vec<Span>, period: Option<Span>) -> Result<Output, Failure> {
    if outages.len() > MAX_OUTAGES {
        return Err(Failure::too_large(format!("outages: at most {MAX_OUTAGES}")));
    }
    let Some(period) = period else { return Err(Failure::invalid(&["period"], "is needed with outages")) };
    if period.start >= period.end {
        return Err(Failure::invalid(&["period"], "must end after it starts"));
    }
    if let Some(at) = outages.iter().position(|span| span.start > span.end) {
        return Err(Failure::invalid(&["outages", &at.to_string()], "must not end before it starts"));
    }
    let mut spans: Vec<(Timestamp, Timestamp)> = outages
        .iter()
        .map(|span| (span.start.max(period.start), span.end.min(period.end)))
        .filter(|(start, end)| start < end)
        .collect();
    spans.sort_unstable();
    let (mut down, mut count) = (0.0, 0.0);
    let mut until: Option<Timestamp> = None;
    for (start, end) in spans {
        let from = until.map_or(start, |until| start.max(until));
        if until.is_none_or(|until| start > until) {
            count += 1.0;
        }
        if end > from {
            down += hours(from, end);
        }
        until = Some(until.map_or(end, |until| until.max(end)));
    }
    let total = hours(period.start, period.end);
    let availability = (1.0 - down / total).clamp(0.0, 1.0);
    let mean = |time: f64| (count > 0.0).then(|| time / count);
    Ok(output(availability, mean((total - down).max(0.0)), mean(down), Vec::new()))
}
