//! Screening for mental illness: sums of questionnaires.

use super::Item;
use super::Source;
use super::definition::{Definition, Input, Outcome, flag, whole};
use super::interval::{Interval, itself};
use super::known::Known;

const PHQ9: &[Input] = &[
    whole("phq9_1", 0.0, 3.0),
    whole("phq9_2", 0.0, 3.0),
    whole("phq9_3", 0.0, 3.0),
    whole("phq9_4", 0.0, 3.0),
    whole("phq9_5", 0.0, 3.0),
    whole("phq9_6", 0.0, 3.0),
    whole("phq9_7", 0.0, 3.0),
    whole("phq9_8", 0.0, 3.0),
    whole("phq9_9", 0.0, 3.0),
];
const GAD7: &[Input] = &[
    whole("gad7_1", 0.0, 3.0),
    whole("gad7_2", 0.0, 3.0),
    whole("gad7_3", 0.0, 3.0),
    whole("gad7_4", 0.0, 3.0),
    whole("gad7_5", 0.0, 3.0),
    whole("gad7_6", 0.0, 3.0),
    whole("gad7_7", 0.0, 3.0),
];
const K6: &[Input] = &[
    whole("k6_1", 0.0, 4.0),
    whole("k6_2", 0.0, 4.0),
    whole("k6_3", 0.0, 4.0),
    whole("k6_4", 0.0, 4.0),
    whole("k6_5", 0.0, 4.0),
    whole("k6_6", 0.0, 4.0),
];
const PCPTSD5: &[Input] =
    &[flag("pcptsd5_1"), flag("pcptsd5_2"), flag("pcptsd5_3"), flag("pcptsd5_4"), flag("pcptsd5_5")];

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "phq9",
        name: "PHQ-9",
        engine: Some("q233"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "kroenke-2001",
            title: "Kroenke K, Spitzer RL, Williams JBW. The PHQ-9. J Gen Intern Med 16",
            year: 2001,
            url: "https://doi.org/10.1046/j.1525-1497.2001.016009606.x",
        },
        inputs: PHQ9,
        caveat: Some("Item 9 above 0 asks for a talk about self-harm, whatever the sum."),
        compute: phq9,
    },
    Definition {
        id: "gad7",
        name: "GAD-7",
        engine: Some("q233"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "spitzer-2006",
            title: "Spitzer RL et al. A brief measure for assessing generalized anxiety disorder. Arch Intern Med 166",
            year: 2006,
            url: "https://doi.org/10.1001/archinte.166.10.1092",
        },
        inputs: GAD7,
        caveat: None,
        compute: gad7,
    },
    Definition {
        id: "k6",
        name: "Kessler K6",
        engine: Some("q233"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "kessler-2003",
            title: "Kessler RC et al. Screening for serious mental illness in the general population. Arch Gen Psychiatry 60",
            year: 2003,
            url: "https://doi.org/10.1001/archpsyc.60.2.184",
        },
        inputs: K6,
        caveat: None,
        compute: k6,
    },
    Definition {
        id: "pcptsd5",
        name: "PC-PTSD-5",
        engine: Some("q233"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "prins-2016",
            title: "Prins A et al. The primary care PTSD screen for DSM-5. J Gen Intern Med 31",
            year: 2016,
            url: "https://doi.org/10.1007/s11606-016-3703-5",
        },
        inputs: PCPTSD5,
        caveat: Some("Only after a traumatic event."),
        compute: pcptsd5,
    },
];

fn phq9(k: &Known) -> Outcome {
    questions(k, PHQ9, 3.0).bands(&[
        (0.0, "minimal"),
        (5.0, "mild"),
        (10.0, "moderate"),
        (15.0, "moderately severe"),
        (20.0, "severe"),
    ])
}

fn gad7(k: &Known) -> Outcome {
    questions(k, GAD7, 3.0).bands(&[(0.0, "minimal"), (5.0, "mild"), (10.0, "moderate"), (15.0, "severe")])
}

fn k6(k: &Known) -> Outcome {
    questions(k, K6, 4.0).bands(&[(0.0, "under 13"), (13.0, "13 or more")])
}

/// Bands by the cut-off of 4, as for adults in the publication.
fn pcptsd5(k: &Known) -> Outcome {
    questions(k, PCPTSD5, 1.0).bands(&[(0.0, "under 4"), (4.0, "4 or more")])
}

fn questions(k: &Known, inputs: &'static [Input], most: f64) -> Outcome {
    let items: Vec<Item> =
        inputs.iter().map(|input| Item { name: input.name, points: itself(k.num(input.name), 0.0, most) }).collect();
    let bounds = items.iter().map(|item| item.points).fold(Interval::exactly(0.0), Interval::plus);
    Outcome { bounds: Some(bounds), items, ..Outcome::default() }
}
