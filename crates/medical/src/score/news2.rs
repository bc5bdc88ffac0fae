//! NEWS2, the National Early Warning Score.

use super::Source;
use super::definition::{AGE, Definition, Outcome, choice, flag, number};
use super::interval::{Interval, below, points, up_to};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[Definition {
    id: "news2",
    name: "NEWS2",
    engine: Some("q214"),
    unit: "points",
    decimals: 0,
    source: Source {
        id: "rcp-news2-2017",
        title: "Royal College of Physicians. National Early Warning Score (NEWS) 2",
        year: 2017,
        url: "https://www.rcp.ac.uk/resources/national-early-warning-score-news-2/",
    },
    inputs: &[
        number("respiratory_rate", 0.0, 100.0),
        number("spo2_percent", 30.0, 100.0),
        choice("spo2_scale", &[("1", 1.0), ("2", 2.0)]).optional(),
        flag("supplemental_oxygen"),
        number("systolic_mmhg", 0.0, 350.0),
        number("heart_rate_bpm", 0.0, 350.0),
        choice(
            "acvpu",
            &[
                ("a", 0.0),
                ("c", 1.0),
                ("v", 2.0),
                ("p", 3.0),
                ("u", 4.0),
                ("alert", 0.0),
                ("confusion", 1.0),
                ("voice", 2.0),
                ("pain", 3.0),
                ("unresponsive", 4.0),
            ],
        ),
        number("temperature_c", 20.0, 46.0),
        AGE.population(),
        flag("pregnant").population(),
    ],
    caveat: Some("SpO2 scale 2 only where hypercapnic failure is confirmed and the target is 88 to 92 %."),
    compute,
}];

fn compute(k: &Known) -> Outcome {
    if below(k.age(), 16.0) == Some(true) {
        return Outcome::not_applicable("NEWS2 is not for patients under 16 years.");
    }
    if k.flag("pregnant") == Some(true) {
        return Outcome::not_applicable("NEWS2 is not for pregnancy: use an obstetric early warning score.");
    }
    let mut outcome = Outcome::sum([
        (
            "respiratory_rate",
            up_to(k.num("respiratory_rate"), &[(8.0, 3.0), (11.0, 1.0), (20.0, 0.0), (24.0, 2.0)], 3.0),
        ),
        ("spo2", saturation(k)),
        ("supplemental_oxygen", points(k.flag("supplemental_oxygen"), 2.0)),
        ("systolic", up_to(k.num("systolic_mmhg"), &[(90.0, 3.0), (100.0, 2.0), (110.0, 1.0), (219.0, 0.0)], 3.0)),
        (
            "heart_rate",
            up_to(k.num("heart_rate_bpm"), &[(40.0, 3.0), (50.0, 1.0), (90.0, 0.0), (110.0, 1.0), (130.0, 2.0)], 3.0),
        ),
        ("consciousness", points(k.num("acvpu").map(|code| code > 0.0), 3.0)),
        ("temperature", up_to(k.num("temperature_c"), &[(35.0, 3.0), (36.0, 1.0), (38.0, 0.0), (39.0, 1.0)], 2.0)),
    ]);
    outcome.bands = bands(&outcome);
    outcome
}

fn saturation(k: &Known) -> Interval {
    let spo2 = k.num("spo2_percent");
    let on_air = [(83.0, 3.0), (85.0, 2.0), (87.0, 1.0)];
    let on_oxygen = [(83.0, 3.0), (85.0, 2.0), (87.0, 1.0), (92.0, 0.0), (94.0, 1.0), (96.0, 2.0)];
    match (k.num("spo2_scale"), k.flag("supplemental_oxygen")) {
        (Some(2.0), Some(true)) => up_to(spo2, &on_oxygen, 3.0),
        (Some(2.0), Some(false)) => up_to(spo2, &on_air, 0.0),
        (Some(2.0), None) => up_to(spo2, &on_oxygen, 3.0).hull(up_to(spo2, &on_air, 0.0)),
        _ => up_to(spo2, &[(91.0, 3.0), (93.0, 2.0), (95.0, 1.0)], 0.0),
    }
}

/// A single parameter of 3 lifts a total under 5 to low-medium.
fn bands(outcome: &Outcome) -> Vec<&'static str> {
    let Some(total) = outcome.bounds else { return Vec::new() };
    let single = outcome.items.iter().any(|item| item.points.min >= 3.0);
    let may_be_single = outcome.items.iter().any(|item| item.points.max >= 3.0);
    let reached = [
        ("low", total.min < 5.0 && !single),
        ("low-medium", total.min < 5.0 && total.max >= 3.0 && may_be_single),
        ("medium", total.min < 7.0 && total.max >= 5.0),
        ("high", total.max >= 7.0),
    ];
    reached.into_iter().filter(|(_, reached)| *reached).map(|(band, _)| band).collect()
}
