//! q226: severity of stroke and time windows.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use muster_engine::prelude::*;
use muster_medical::score::{InputKind, inputs};

use crate::support::{self, Known, unreviewed, whole};

/// Windows after the patient was last known well, in minutes.
const WINDOWS: [(&str, i64); 2] = [("intravenous thrombolysis", 270), ("mechanical thrombectomy", 1440)];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    items: BTreeMap<String, i64>,
    last_known_well: Option<Timestamp>,
    now: Option<Timestamp>,
    age_yr: Option<f64>,
    systolic_mmhg: Option<f64>,
    diastolic_mmhg: Option<f64>,
    unilateral_weakness: bool,
    speech_impairment: bool,
    duration_minutes: Option<f64>,
    diabetes: bool,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    nihss: i64,
    severity: StrokeSeverity,
    abcd2: Option<i64>,
    minutes_since_min: Option<f64>,
    windows: Vec<Window>,
    large_vessel_likely: bool,
}

#[derive(Output)]
struct Window {
    therapy: &'static str,
    open: bool,
    closes: Timestamp,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "kebab")]
enum StrokeSeverity {
    None,
    Minor,
    Moderate,
    ModerateSevere,
    Severe,
}

/// Sums the scale and compares the times.
///
/// # Errors
/// `Invalid` for an item or points that the scale does not have, and for times in the wrong order.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    support::AGE.check(cx, "age", input.age_yr)?;
    support::SYSTOLIC.check(cx, "systolic", input.systolic_mmhg)?;
    support::DIASTOLIC.check(cx, "diastolic", input.diastolic_mmhg)?;
    if input.duration_minutes.is_some_and(|minutes| !(0.0..=100_000.0).contains(&minutes)) {
        return Err(Failure::invalid(&["duration_minutes"], "must be from 0 to 100000 minutes"));
    }
    let scale = scale(&input.items)?;
    let score = scale.least(cx, "nihss")?.ok_or_else(|| Failure::internal("nihss has no bounds"))?;
    let total = score.min.map_or(0, whole);
    let (minutes, windows) = windows(input.last_known_well, input.now, cx)?;
    unreviewed(cx, "windows restate AHA/ASA 2019; eligibility depends on more than the time");
    Ok(Output {
        nihss: total,
        severity: support::band(&score).ok_or_else(|| Failure::internal("nihss has no band"))?,
        abcd2: abcd2(&input, cx)?,
        minutes_since_min: minutes,
        windows,
        large_vessel_likely: total >= 6,
    })
}

fn scale(items: &BTreeMap<String, i64>) -> Result<Known, Failure> {
    let declared = inputs("nihss").unwrap_or_default();
    let mut known = Known::default();
    for (name, points) in items {
        let Some(item) = declared.iter().find(|item| item.name == name) else {
            let names: Vec<&str> = declared.iter().map(|item| item.name).collect();
            let text = format!("is no item of the scale; items are {}", names.join(", "));
            return Err(Failure::invalid(&["items", name.as_str()], text));
        };
        let most = match item.kind {
            InputKind::Whole { high, .. } => high,
            _ => 0.0,
        };
        if !(0.0..=most).contains(&(*points as f64)) {
            let text = format!("must be from 0 to {most}; leave out an item that cannot be tested");
            return Err(Failure::invalid(&["items", name.as_str()], text));
        }
        known = known.number(name, *points as f64);
    }
    Ok(known)
}

/// ABCD2 for a transient attack; none unless age, pressure and duration are known.
fn abcd2(input: &Input, cx: &Context) -> Result<Option<i64>, Failure> {
    let known = Known::default()
        .number("age_years", input.age_yr)
        .number("systolic_mmhg", input.systolic_mmhg)
        .number("diastolic_mmhg", input.diastolic_mmhg)
        .flag("unilateral_weakness", input.unilateral_weakness)
        .flag("speech_impairment", input.speech_impairment)
        .number("duration_minutes", input.duration_minutes)
        .flag("diabetes", input.diabetes);
    let score = known.value(cx, "abcd2")?;
    if score.is_some() {
        let findings = [("unilateral_weakness", "unilateral_weakness"), ("diabetes", "diabetes")];
        known.absent(cx, "abcd2", &findings)?;
        cx.warn("abcd2: never a reason to delay; NICE NG128 advises against using it to decide on urgency");
    }
    Ok(score.map(whole))
}

fn windows(
    well: Option<Timestamp>,
    now: Option<Timestamp>,
    cx: &Context,
) -> Result<(Option<f64>, Vec<Window>), Failure> {
    let (Some(well), Some(now)) = (well, now) else {
        if well.is_some() || now.is_some() {
            cx.warn("missing: windows need both last_known_well and now");
        }
        return Ok((None, Vec::new()));
    };
    if now < well {
        let text = "is after now: give the time at which the patient was last known to be well";
        return Err(Failure::invalid(&["last_known_well"], text));
    }
    let mut windows = Vec::new();
    for (therapy, minutes) in WINDOWS {
        let closes = well.checked_add(SignedDuration::from_mins(minutes));
        let closes = closes.map_err(|_| Failure::invalid(&["last_known_well"], "is too far in the future"))?;
        windows.push(Window { therapy, open: now <= closes, closes });
    }
    let elapsed = now.duration_since(well).as_secs_f64() / 60.0;
    Ok((Some(elapsed), windows))
}
