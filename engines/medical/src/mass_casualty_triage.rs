//! q217: triage of mass casualties.
//!
//! A sign that is not known never speaks for a lower category: it counts as abnormal, and a warning names it.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::{short, unreviewed};

const MAX_CASUALTIES: usize = 10_000;
/// JumpSTART is used below this age, in years.
const CHILD: f64 = 8.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    casualties: Vec<Casualty>,
    protocol: Protocol,
}

#[derive(Input)]
struct Casualty {
    id: String,
    age: Option<f64>,
    walking: bool,
    breathing: bool,
    breathing_after_airway: Option<bool>,
    respiratory_rate: Option<f64>,
    radial_pulse: Option<bool>,
    capillary_refill: Option<f64>,
    obeys_commands: Option<bool>,
    avpu: Option<Avpu>,
    bleeding_controlled: Option<bool>,
    survivable: Option<bool>,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
#[wire(case = "upper")]
enum Avpu {
    A,
    V,
    P,
    U,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Start,
    Jumpstart,
    Salt,
    Auto,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    casualties: Vec<Sorted>,
    counts: BTreeMap<&'static str, i64>,
}

#[derive(Output)]
struct Sorted {
    id: String,
    category: Category,
    protocol: &'static str,
    step: &'static str,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Category {
    Immediate,
    Delayed,
    Minor,
    Expectant,
    Deceased,
}

/// Category, the step that decided, and whether a sign that is not known decided.
struct Decision {
    category: Category,
    step: &'static str,
    unknown: bool,
}

const fn known(category: Category, step: &'static str) -> Decision {
    Decision { category, step, unknown: false }
}

const fn unknown(step: &'static str) -> Decision {
    Decision { category: Category::Immediate, step, unknown: true }
}

/// Sorts the casualties.
///
/// # Errors
/// `Invalid` for values that are not plausible, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.casualties.len() > MAX_CASUALTIES {
        return Err(Failure::too_large(format!("there are more than {MAX_CASUALTIES} casualties: send them in parts")));
    }
    let mut counts: BTreeMap<&'static str, i64> = Category::ALL.iter().map(|(_, word)| (*word, 0)).collect();
    let mut sorted = Vec::with_capacity(input.casualties.len());
    for (at, casualty) in input.casualties.into_iter().enumerate() {
        check(&casualty, at)?;
        let protocol = protocol(&casualty, input.protocol, cx);
        let decision = match protocol {
            Protocol::Jumpstart => jumpstart(&casualty),
            Protocol::Salt => salt(&casualty, cx),
            Protocol::Start | Protocol::Auto => start(&casualty),
        };
        if decision.unknown {
            cx.warn(format!("missing: {}: {}", short(&casualty.id), decision.step));
        }
        if casualty.walking && !casualty.breathing {
            cx.warn(format!(
                "contradiction: {} walks and does not breathe; counted as not walking",
                short(&casualty.id)
            ));
        }
        *counts.entry(decision.category.word()).or_default() += 1;
        let (category, step) = (decision.category, decision.step);
        sorted.push(Sorted { id: casualty.id, category, protocol: protocol.word(), step });
    }
    unreviewed(cx, "categories are of the first sorting and change with the casualty: sort again");
    Ok(Output { casualties: sorted, counts })
}

fn check(casualty: &Casualty, at: usize) -> Result<(), Failure> {
    let place = at.to_string();
    let ranges = [
        ("age", casualty.age, 120.0, "years"),
        ("respiratory_rate", casualty.respiratory_rate, 120.0, "breaths a minute"),
        ("capillary_refill", casualty.capillary_refill, 60.0, "seconds"),
    ];
    for (field, value, most, unit) in ranges {
        if value.is_some_and(|value| !(0.0..=most).contains(&value)) {
            return Err(Failure::invalid(&["casualties", &place, field], format!("must be from 0 to {most} {unit}")));
        }
    }
    Ok(())
}

fn protocol(casualty: &Casualty, asked: Protocol, cx: &Context) -> Protocol {
    match (asked, casualty.age) {
        (Protocol::Auto, Some(age)) if age < CHILD => Protocol::Jumpstart,
        (Protocol::Auto, None) => {
            cx.warn(format!(
                "missing: {}: the age is not known; START was used, which is for adults",
                short(&casualty.id)
            ));
            Protocol::Start
        }
        (Protocol::Auto, Some(_)) => Protocol::Start,
        (asked, _) => asked,
    }
}

/// Whether the casualty breathes: a rate of 0 is none.
fn breathes(casualty: &Casualty) -> bool {
    casualty.breathing && casualty.respiratory_rate != Some(0.0)
}

/// Whether the circulation suffices; none while neither sign is known.
fn perfused(casualty: &Casualty) -> Option<bool> {
    let refill = casualty.capillary_refill.map(|seconds| seconds <= 2.0);
    match (casualty.radial_pulse, refill) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (None, None) => None,
        _ => Some(true),
    }
}

/// Who responds to pain only or not at all cannot obey.
fn obeys(casualty: &Casualty) -> Option<bool> {
    let unable = matches!(casualty.avpu, Some(Avpu::P | Avpu::U));
    casualty.obeys_commands.or_else(|| unable.then_some(false))
}

fn start(casualty: &Casualty) -> Decision {
    use Category::{Deceased, Delayed, Immediate, Minor};
    if casualty.walking && breathes(casualty) {
        return known(Minor, "walks");
    }
    if !breathes(casualty) {
        return match casualty.breathing_after_airway {
            Some(true) => known(Immediate, "breathes once the airway is open"),
            Some(false) => known(Deceased, "does not breathe after the airway was opened"),
            None => unknown("does not breathe and the airway has not been opened yet"),
        };
    }
    match casualty.respiratory_rate {
        Some(rate) if rate > 30.0 => return known(Immediate, "more than 30 breaths a minute"),
        Some(_) => {}
        None => return unknown("the respiratory rate is not known"),
    }
    match perfused(casualty) {
        Some(false) => return known(Immediate, "no radial pulse, or capillary refill above 2 s"),
        Some(true) => {}
        None => return unknown("neither radial pulse nor capillary refill is known"),
    }
    match obeys(casualty) {
        Some(false) => known(Immediate, "does not obey commands"),
        Some(true) => known(Delayed, "breathing, perfusion and commands are in order"),
        None => unknown("whether commands are obeyed is not known"),
    }
}

fn jumpstart(casualty: &Casualty) -> Decision {
    use Category::{Deceased, Delayed, Immediate, Minor};
    if casualty.walking && breathes(casualty) {
        return known(Minor, "walks");
    }
    if !breathes(casualty) {
        return match (casualty.breathing_after_airway, casualty.radial_pulse) {
            (Some(true), _) => known(Immediate, "breathes once the airway is open"),
            (Some(false), Some(false)) => known(Deceased, "neither breathing nor pulse after the airway was opened"),
            (Some(false), Some(true)) => unknown("a pulse without breathing: five rescue breaths decide"),
            _ => unknown("does not breathe, and airway or pulse has not been checked yet"),
        };
    }
    match casualty.respiratory_rate {
        Some(rate) if !(15.0..=45.0).contains(&rate) => {
            return known(Immediate, "fewer than 15 or more than 45 breaths a minute");
        }
        Some(_) => {}
        None => return unknown("the respiratory rate is not known"),
    }
    match casualty.radial_pulse {
        Some(false) => return known(Immediate, "no palpable pulse"),
        Some(true) => {}
        None => return unknown("whether there is a pulse is not known"),
    }
    match casualty.avpu {
        Some(Avpu::U) => known(Immediate, "unresponsive"),
        Some(Avpu::P) => unknown("responds to pain: whether in a purposeful way is not known"),
        Some(Avpu::A | Avpu::V) => known(Delayed, "breathing, pulse and response are in order"),
        None => unknown("the response (AVPU) is not known"),
    }
}

fn salt(casualty: &Casualty, cx: &Context) -> Decision {
    use Category::{Deceased, Delayed, Minor};
    if !breathes(casualty) {
        return match casualty.breathing_after_airway {
            Some(false) => known(Deceased, "does not breathe after the airway was opened"),
            Some(true) => grave(casualty, "breathes once the airway is open", false),
            None => unknown("does not breathe and the airway has not been opened yet"),
        };
    }
    let mut open = false;
    // Walking to the assembly point on a call shows that commands are obeyed and the circulation suffices.
    let signs = [
        (obeys(casualty).or(casualty.walking.then_some(true)), "does not obey commands"),
        (casualty.radial_pulse.or(casualty.walking.then_some(true)), "no peripheral pulse"),
        (casualty.respiratory_rate.map(|rate| rate <= 30.0), "respiratory distress (more than 30 breaths a minute)"),
        (casualty.bleeding_controlled.or(Some(true)), "bleeding is not controlled"),
    ];
    for (sign, step) in signs {
        match sign {
            Some(false) => return grave(casualty, step, false),
            Some(true) => {}
            None => open = true,
        }
    }
    if casualty.bleeding_controlled.is_none() {
        cx.warn(format!("absent: {}: no major bleeding is counted, as none was reported", short(&casualty.id)));
    }
    match (open, casualty.walking) {
        (_, true) => known(Minor, "walks, and nothing speaks for a graver category"),
        (true, false) => grave(casualty, "commands, pulse or breathing are not known", true),
        (false, false) => known(Delayed, "commands, pulse, breathing and bleeding are in order"),
    }
}

/// Immediate, or expectant where survival with the present resources was judged to be unlikely; that is never guessed.
fn grave(casualty: &Casualty, step: &'static str, unknown: bool) -> Decision {
    let category = if casualty.survivable == Some(false) { Category::Expectant } else { Category::Immediate };
    Decision { category, step, unknown }
}
