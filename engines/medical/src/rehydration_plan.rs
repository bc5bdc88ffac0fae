//! q232: dehydration and rehydration.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::{Known, unreviewed};

const MAX_CASES: i64 = 1_000_000_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_months: f64,
    weight_kg: f64,
    signs: Signs,
    malnourished: bool,
    cases_expected: Option<i64>,
}

#[derive(Input)]
struct Signs {
    condition: Condition,
    eyes: Eyes,
    thirst: Thirst,
    skin_pinch: SkinPinch,
}

#[derive(Words, Clone, Copy)]
enum Condition {
    Well,
    Restless,
    Lethargic,
}

#[derive(Words, Clone, Copy)]
enum Eyes {
    Normal,
    Sunken,
}

#[derive(Words, Clone, Copy)]
enum Thirst {
    Normal,
    Eager,
    Unable,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "kebab")]
enum SkinPinch {
    Quick,
    Slow,
    VerySlow,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    class: Class,
    plan: Plan,
    volumes: Vec<Volume>,
    zinc: Option<Zinc>,
    supplies: Option<BTreeMap<&'static str, f64>>,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Class {
    None,
    Some,
    Severe,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "pascal")]
enum Plan {
    A,
    B,
    C,
    ReSoMal,
}

#[derive(Output)]
struct Volume {
    phase: &'static str,
    ml: f64,
    hours: f64,
    fluid: &'static str,
}

#[derive(Output)]
struct Zinc {
    mg: i64,
    days: i64,
}

/// Classifies by signs and gives the plan of the WHO.
///
/// # Errors
/// `Invalid` for a number of cases that is not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let known = Known::default()
        .word("condition", input.signs.condition.word())
        .word("eyes", input.signs.eyes.word())
        .word("thirst", input.signs.thirst.word())
        .word("skin_pinch", input.signs.skin_pinch.word());
    let class = match known.score("who_dehydration")?.value {
        Some(2.0) => Class::Severe,
        Some(1.0) => Class::Some,
        Some(_) => Class::None,
        None => return Err(Failure::internal("who_dehydration has no value with all inputs")),
    };
    let (plan, volumes) = if input.malnourished { malnourished(&input, class, cx) } else { plan(&input, class) };
    if !input.malnourished && input.age_months < 60.0 {
        cx.warn("absent: no severe malnutrition is counted, false being the default; with it the plan is another");
    }
    let supplies = input.cases_expected.map(|cases| supplies(cases, cx)).transpose()?;
    unreviewed(cx, "volumes restate WHO 2005; reassess after each phase, and more often in severe dehydration");
    Ok(Output { class, plan, volumes, zinc: zinc(input.age_months), supplies })
}

fn plan(input: &Input, class: Class) -> (Plan, Vec<Volume>) {
    let weight = input.weight_kg;
    let infant = input.age_months < 12.0;
    match class {
        Class::None => {
            let (phase, ml) = match input.age_months {
                months if months < 24.0 => ("50 to 100 mL after each loose stool; in a day about", 500.0),
                months if months < 120.0 => ("100 to 200 mL after each loose stool; in a day about", 1000.0),
                _ => ("as much as wanted after each loose stool; in a day about", 2000.0),
            };
            (Plan::A, vec![Volume { phase, ml, hours: 24.0, fluid: "ORS" }])
        }
        Class::Some => {
            let volume = Volume { phase: "rehydration", ml: 75.0 * weight, hours: 4.0, fluid: "ORS" };
            (Plan::B, vec![volume])
        }
        Class::Severe => {
            let (first, second) = if infant { (1.0, 5.0) } else { (0.5, 2.5) };
            let fluid = "Ringer's lactate, intravenous";
            let volumes = vec![
                Volume { phase: "first", ml: 30.0 * weight, hours: first, fluid },
                Volume { phase: "then", ml: 70.0 * weight, hours: second, fluid },
            ];
            (Plan::C, volumes)
        }
    }
}

/// Slow oral rehydration in severe acute malnutrition (WHO pocket book of hospital care for children, 2013, 7.4.3).
fn malnourished(input: &Input, class: Class, cx: &Context) -> (Plan, Vec<Volume>) {
    let weight = input.weight_kg;
    cx.warn("malnourished: the signs mislead in severe malnutrition; intravenous fluid is for shock only");
    if input.age_months >= 60.0 {
        cx.warn("extrapolated: the volumes of ReSoMal are for children under 5 years");
    }
    if input.cases_expected.is_some() {
        cx.warn("malnourished: in cholera standard ORS is given in place of ReSoMal");
    }
    let fluid = "ReSoMal";
    let volumes = match class {
        Class::None => vec![Volume { phase: "after each loose stool", ml: 5.0 * weight, hours: 0.0, fluid }],
        Class::Some | Class::Severe => vec![
            Volume { phase: "5 mL/kg every 30 minutes", ml: 20.0 * weight, hours: 2.0, fluid },
            Volume {
                phase: "then at least 5 (up to 10) mL/kg in an hour, in alternate hours with F-75",
                ml: 25.0 * weight,
                hours: 10.0,
                fluid,
            },
        ],
    };
    (Plan::ReSoMal, volumes)
}

/// For children under 5 years: 10 to 14 days.
fn zinc(months: f64) -> Option<Zinc> {
    match months {
        months if months < 6.0 => Some(Zinc { mg: 10, days: 10 }),
        months if months < 60.0 => Some(Zinc { mg: 20, days: 10 }),
        _ => None,
    }
}

/// Needs of a caseload: a quarter of the cases with intravenous treatment (MSF 2018, 7.3.2) of 8 litres each
/// (interagency diarrhoeal disease kit, 2009), and 6.5 sachets of ORS for each case.
fn supplies(cases: i64, cx: &Context) -> Result<BTreeMap<&'static str, f64>, Failure> {
    if !(0..=MAX_CASES).contains(&cases) {
        return Err(Failure::invalid(&["cases_expected"], format!("must be from 0 to {MAX_CASES} cases")));
    }
    cx.warn("from_memory: the ORS of 650 sachets for 100 cases was not compared with its source (WHO 2004)");
    let severe = (cases as f64 * 0.25).ceil();
    Ok(BTreeMap::from([
        ("severe_cases", severe),
        ("ringer_lactate_l", severe * 8.0),
        ("ors_sachets_1l", (cases as f64 * 6.5).ceil()),
    ]))
}
